// The npm package serper.

import { answer, query, rows, setting, key, url } from "./_script.mjs";
import { Serper } from "serper";

const client = new Serper({ apiKey: key, ...(setting ? { basePath: url } : {}) });
const first = await client.search(query);
answer("serper", {
  search: rows(first.organic, "title", "link", "snippet"),
  "search, nextPage": rows((await first.nextPage()).organic, "title", "link", "snippet"),
  news: rows((await client.news(query)).news, "title", "link", "snippet"),
  images: rows((await client.images(query)).images),
  videos: rows((await client.videos(query)).videos),
  places: rows((await client.places(query)).places),
});

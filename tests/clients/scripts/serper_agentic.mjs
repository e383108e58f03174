// The npm package @agentic/serper.

import { answer, query, rows, setting, key, url } from "./_script.mjs";
import { SerperClient } from "@agentic/serper";

const client = new SerperClient({ apiKey: key, ...(setting ? { apiBaseUrl: url } : {}) });
answer("@agentic/serper", {
  search: rows((await client.search(query)).organic, "title", "link", "snippet"),
  searchNews: rows((await client.searchNews(query)).news, "title", "link", "snippet"),
  searchImages: rows((await client.searchImages(query)).images),
  searchVideos: rows((await client.searchVideos(query)).videos),
  searchPlaces: rows((await client.searchPlaces(query)).places),
  searchProducts: rows((await client.searchProducts(query)).shopping),
});

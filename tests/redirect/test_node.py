"""Node's fetch, http and https are led to the world; its sockets and lookups are refused elsewhere."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from searchsim.server.context import Context
from searchsim.world import World
from tests.redirect.conftest import Turned

PROGRAM = """
import childProcess, { execFileSync, execSync, spawn, spawnSync } from "node:child_process";
import dgram from "node:dgram";
import dns from "node:dns";
import http from "node:http";
import https, { get, request } from "node:https";
import net from "node:net";
import tls from "node:tls";
import { Worker } from "node:worker_threads";

const SEARCH = "https://google.serper.dev/search";
const body = JSON.stringify({ q: "gyroscopic bicycle" });
const headers = { "X-API-KEY": "mine", "Content-Type": "application/json" };
const read = (stream) => new Promise((done) => { let d = ""; stream.on("data", (c) => (d += c)); stream.on("end", () => done(d)); });
const ask = (send, ...given) => new Promise((done, fail) => {
  const made = send(...given, async (answer) => done({ status: answer.statusCode, text: await read(answer) }));
  made.on("error", fail);
  made.end(given.at(-1)?.method === "POST" ? body : undefined);
});
const found = (text) => JSON.parse(text).organic.length;
const nix = (name) => `https://node.example/${name}`;
const child = (name) => `fetch(${JSON.stringify(nix(name))}).then((r) => console.log(r.status))`;
const bare = { PATH: process.env.PATH };
const away = (connect) => new Promise((done, fail) => connect(() => done("went through")).on("error", fail));
const port = Number(new URL(process.env.SEARCHSIM_REDIRECT_URL).port);

const ways = {
  fetch: async () => { const r = await fetch(SEARCH, { method: "POST", headers, body }); return [found(await r.text()), r.url]; },
  fetchRequest: async () => found(await (await fetch(new Request(SEARCH, { method: "POST", headers, body }))).text()),
  fetchPage: async () => (await fetch(process.argv[2])).status,
  fetchData: async () => (await fetch("data:,here")).text(),
  httpsRequest: async () => found((await ask(https.request, SEARCH, { method: "POST", headers })).text),
  rawHeaders: async () => found((await ask(https.request, SEARCH, { method: "POST", headers: Object.entries(headers).flat().concat("Host", "google.serper.dev") })).text),
  namedGet: async () => (await ask(get, nix("namedGet"))).status,
  namedRequest: async () => (await ask(request, { host: "node.example", path: "/namedRequest", agent: new https.Agent({ keepAlive: true }) })).status,
  asProxy: async () => found((await ask(http.request, { host: "127.0.0.1", port, path: SEARCH, method: "POST", headers })).text),
  spawn: async () => (await read(spawn(process.execPath, ["-e", child("spawn")], { env: {} }).stdout)).trim(),
  spawnSync: async () => spawnSync(process.execPath, ["-e", child("spawnSync")], { env: bare }).stdout.toString().trim(),
  execFileSync: async () => execFileSync(process.execPath, ["-e", child("execFileSync")], { env: bare }).toString().trim(),
  execSync: async () => execSync(`"${process.execPath}" -e '${child("execSync")}'`, { env: bare }).toString().trim(),
  python: async () => spawnSync(process.argv[3], ["-c", `import urllib.request as u\\ntry: u.urlopen("${nix("python")}")\\nexcept Exception as e: print(e.code)`], { env: bare }).stdout.toString().trim(),
  worker: () => new Promise((done, fail) => {
    const code = `fetch("${nix("worker")}").then((r) => require("worker_threads").parentPort.postMessage(r.status))`;
    new Worker(code, { eval: true, env: {} }).on("message", done).on("error", fail);
  }),
  ownServer: () => new Promise((done) => {
    const server = http.createServer((_, answer) => answer.end("mine")).listen(0, async () => {
      done((await ask(http.get, `http://localhost:${server.address().port}/`)).text);
      server.close();
    });
  }),
  net: () => away((done) => net.connect(80, "192.0.2.9", done)),
  tls: () => away((done) => tls.connect(443, "name.example", done)),
  loopback: () => away((done) => net.connect({ port: 9, host: "127.0.0.1" }, done)),
  lookup: () => new Promise((done, fail) => dns.lookup("looked-up.example", (error) => (error ? fail(error) : done()))),
  resolve: () => dns.promises.resolve4("resolved.example"),
  local: () => new Promise((done, fail) => dns.lookup("localhost", (error) => (error ? fail(error) : done("local")))),
  udp: () => new Promise((done, fail) => {
    const socket = dgram.createSocket("udp4");
    socket.send("x", 53, "192.0.2.9", (error) => { socket.close(); error ? fail(error) : done("went through"); });
  }),
};
const said = {};
for (const [name, way] of Object.entries(ways))
  try { said[name] = await way(); } catch (error) { said[name] = `${error.code}: ${error.message.slice(0, 17)}`; }
childProcess.spawnSync(process.argv[3], ["-I", "-c", "pass"]);
console.log(JSON.stringify(said));
process.exitCode = 5;
"""
REFUSED = "ECONNREFUSED: searchsim refused"


async def test_node(context: Context, world: World, turned: Turned, tmp_path: Path) -> None:
    program = tmp_path / "program.mjs"
    program.write_text(PROGRAM)
    injected = next(iter(world.documents()))
    result = await turned("node", str(program), injected.url, sys.executable)
    assert result.code == 5, result.err
    assert json.loads(result.out) == {
        "fetch": [10, "https://google.serper.dev/search"],
        "fetchRequest": 10,
        "fetchPage": 200,
        "fetchData": "here",
        "httpsRequest": 10,
        "rawHeaders": 10,
        "namedGet": 404,
        "namedRequest": 404,
        "asProxy": 10,
        "spawn": "404",
        "spawnSync": "404",
        "execFileSync": "404",
        "execSync": "404",
        "python": "404",
        "worker": 404,
        "ownServer": "mine",
        "net": REFUSED,
        "tls": REFUSED,
        "loopback": REFUSED,
        "lookup": REFUSED,
        "resolve": REFUSED,
        "local": "local",
        "udp": REFUSED,
    }
    names = ["namedGet", "namedRequest", "spawn", "spawnSync", "execFileSync", "execSync", "python", "worker"]
    assert result.pages() == {injected.url, *(f"https://node.example/{n}" for n in names)}
    assert result.refused() == [
        "tcp://192.0.2.9:80",
        "tcp://name.example:443",
        "tcp://127.0.0.1:9",
        "dns://looked-up.example",
        "dns://resolved.example",
        "udp://192.0.2.9:53",
    ]
    assert len(result.found.unhooked) == 1

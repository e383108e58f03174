"use strict";
// Turn this process's web traffic to a simulation, and let nothing else out: what `_searchsim_hook.py` beside this file
// does for Python, for Node 18 and later, by NODE_OPTIONS=--require. The standard library alone.
//
// fetch, http and https are led to the simulation, without TLS, and each request carries its original URL and the
// world's key; sockets and lookups that lead elsewhere are refused. Children and worker threads inherit it.

const childProcess = require("node:child_process");
const dgram = require("node:dgram");
const dns = require("node:dns");
const fs = require("node:fs");
const http = require("node:http");
const https = require("node:https");
const { syncBuiltinESMExports } = require("node:module");
const net = require("node:net");
const path = require("node:path");
const { urlToHttpOptions } = require("node:url");
const workers = require("node:worker_threads");

const WORLD_HEADER = "X-Searchsim-World";
const URL_HEADER = "X-Searchsim-Original-Url";
const VARIABLES = ["URL", "WORLD", "MODEL", "ALLOW", "LOG", "CLOCK"].map((name) => `SEARCHSIM_REDIRECT_${name}`);
const PROXIES = ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"];

if (process.env.SEARCHSIM_REDIRECT_CLOCK) stopClock(process.env.SEARCHSIM_REDIRECT_CLOCK);
if (process.env.SEARCHSIM_REDIRECT_URL) install();

// What programs print stands still, see `_searchsim_clock.py`; Date.now and the clocks that measure run on.
function stopClock(moment) {
  const stopped = Date.parse(`${moment}Z`);
  if (Number.isNaN(stopped)) {
    process.stderr.write(`searchsim: the clock can't be stopped at ${moment}\n`);
    process.exit(70);
  }
  globalThis.Date = new Proxy(Date, {
    construct: (real, given, made) => Reflect.construct(real, given.length ? given : [stopped], made),
    apply: (real) => new real(stopped).toString(),
  });
  const { prototype } = Intl.DateTimeFormat;
  const { get } = Object.getOwnPropertyDescriptor(prototype, "format");
  const parts = prototype.formatToParts;
  Object.defineProperty(prototype, "format", {
    configurable: true,
    get() {
      const format = get.call(this);
      return (date) => format(date === undefined ? stopped : date);
    },
  });
  prototype.formatToParts = function (date) {
    return parts.call(this, date === undefined ? stopped : date);
  };
}

function install() {
  const kept = {};
  for (const name of [...VARIABLES, ...PROXIES, ...PROXIES.map((p) => p.toLowerCase())])
    if (process.env[name] !== undefined) kept[name] = process.env[name];
  const world = process.env.SEARCHSIM_REDIRECT_WORLD || "";
  const log = process.env.SEARCHSIM_REDIRECT_LOG || "";
  const words = (text) => (text || "").split(/[\s,]+/).filter(Boolean);
  const simulation = authority(process.env.SEARCHSIM_REDIRECT_URL);
  // Where traffic goes as it is; without a port, to any port.
  const direct = [
    simulation,
    ...words(process.env.SEARCHSIM_REDIRECT_MODEL).map(authority),
    ...words(process.env.SEARCHSIM_REDIRECT_ALLOW).map((host) => split(host)),
  ];
  const resolved = new Map();
  const listening = new Set();
  const told = new Set();

  // What may go where.

  function split(netloc, usual) {
    const found = /^(.*@)?(\[[^\]]*\]|[^:]*|[^[].*:.*:.*?)(?::(\d+))?$/.exec(netloc);
    return found ? { host: plain(found[2]), port: found[3] ? Number(found[3]) : usual } : { host: plain(netloc), port: usual };
  }

  function plain(host) {
    return String(host).replace(/^\[|\]$/g, "").replace(/\.$/, "").toLowerCase();
  }

  function authority(url) {
    const parsed = new URL(url);
    const secure = parsed.protocol === "https:" || parsed.protocol === "wss:";
    return { host: plain(parsed.hostname), port: Number(parsed.port) || (secure ? 443 : 80) };
  }

  function isLoopback(host) {
    host = host.replace(/^::ffff:/, "");
    return (
      ["localhost", "localhost.localdomain", "ip6-localhost", "ip6-loopback", "::1", "::", "0.0.0.0"].includes(host) ||
      host.endsWith(".localhost") ||
      (net.isIPv4(host) && host.startsWith("127."))
    );
  }

  function isDirect(host, port) {
    return direct.some(
      (place) =>
        (place.port === undefined || !port || place.port === port) &&
        (place.host === host || resolved.get(place.host)?.has(host) || (isLoopback(place.host) && isLoopback(host))),
    );
  }

  function isRedirected(host, port) {
    return !isDirect(host, port) && !isLoopback(host);
  }

  /** Whether something in this run listens on a port of this machine. */
  function isOurs(port) {
    if (!listening.has(port) && log)
      for (const line of fs.readFileSync(log, "utf8").split("\n"))
        if (line.includes('"listening"') && line.endsWith("}")) listening.add(JSON.parse(line).port);
    return listening.has(port);
  }

  // What is told.

  function tell(facts) {
    if (log) fs.appendFileSync(log, `${JSON.stringify(facts)}\n`);
  }

  function tellOnce(facts) {
    const key = JSON.stringify(facts);
    if (!told.has(key)) tell(facts);
    told.add(key);
  }

  function refusal(host, port, scheme) {
    const shown = host.includes(":") ? `[${host}]` : host;
    const place = port ? `${shown}:${port}` : shown;
    tell({ event: "refused", host, url: `${scheme}://${place}` });
    const what = scheme === "dns" ? "the lookup of" : "a connection to";
    const error = new Error(
      `searchsim refused ${what} ${place}, which is neither the simulation nor the model; ` +
        `if the program must reach it, start \`searchsim run\` with --allow-host ${isLoopback(host) ? place : host}`,
    );
    return Object.assign(error, { code: "ECONNREFUSED", syscall: scheme === "dns" ? "getaddrinfo" : "connect" });
  }

  // The guard.

  /** The error for a place that traffic may not go to, or undefined. */
  function refused(host, port, scheme) {
    host = plain(host);
    if (isDirect(host, port)) {
      if (!isLoopback(host) && net.isIP(host)) tellOnce({ event: "passed", address: host });
      return undefined;
    }
    if (isLoopback(host) && (scheme === "tcp" ? isOurs(port) : port !== 53)) return undefined;
    return refusal(host, port, scheme);
  }

  function refusedLookup(host) {
    host = plain(host ?? "");
    if (!host || net.isIP(host) || isLoopback(host) || isDirect(host)) return undefined;
    return refusal(host, undefined, "dns");
  }

  const connect = net.Socket.prototype.connect;
  net.Socket.prototype.connect = function (...given) {
    const [first, second] = Array.isArray(given[0]) ? given[0] : given;
    let host = "localhost";
    let port;
    if (first !== null && typeof first === "object") {
      if (first.path) return connect.apply(this, given);
      host = first.host || host;
      port = first.port;
    } else if (typeof first === "string" && !/^\d+$/.test(first)) {
      return connect.apply(this, given);
    } else {
      port = first;
      if (typeof second === "string") host = second;
    }
    const error = refused(host, Number(port), "tcp");
    if (!error) {
      this.once("connect", () => {
        const address = this.remoteAddress;
        if (address && !isLoopback(address)) tellOnce({ event: "passed", address });
      });
      return connect.apply(this, given);
    }
    process.nextTick(() => this.destroy(error));
    return this;
  };

  const listen = net.Server.prototype.listen;
  net.Server.prototype.listen = function (...given) {
    this.once("listening", () => {
      const port = this.address()?.port;
      if (port && !listening.has(port)) {
        listening.add(port);
        tell({ event: "listening", port });
      }
    });
    return listen.apply(this, given);
  };

  function remember(host, found) {
    const name = plain(host);
    const addresses = (Array.isArray(found) ? found : [found]).map((a) => (typeof a === "object" ? a.address : a));
    resolved.set(name, new Set([...(resolved.get(name) || []), ...addresses]));
  }

  const LOOKUPS = Object.keys(dns).filter((name) => /^(lookup|lookupService|resolve\w*|reverse)$/.test(name));
  function guardCallbacks(target) {
    for (const name of LOOKUPS) {
      const original = target[name];
      if (typeof original !== "function") continue;
      target[name] = function (host, ...rest) {
        const error = refusedLookup(host);
        const done = rest.pop();
        if (typeof done !== "function") return original.call(this, host, ...rest, done);
        if (error) {
          process.nextTick(() => done(error));
          return {};
        }
        return original.call(this, host, ...rest, (problem, ...found) => {
          if (!problem && name === "lookup") remember(host, found[0]);
          done(problem, ...found);
        });
      };
    }
  }
  function guardPromises(target) {
    for (const name of LOOKUPS) {
      const original = target[name];
      if (typeof original !== "function") continue;
      target[name] = async function (host, ...rest) {
        const error = refusedLookup(host);
        if (error) throw error;
        const found = await original.call(this, host, ...rest);
        if (name === "lookup") remember(host, found);
        return found;
      };
    }
  }
  guardCallbacks(dns);
  guardCallbacks(dns.Resolver.prototype);
  guardPromises(dns.promises);
  guardPromises(dns.promises.Resolver.prototype);

  const datagram = dgram.Socket.prototype;
  for (const name of ["send", "connect"]) {
    const original = datagram[name];
    datagram[name] = function (...given) {
      // send(message, [offset, length,] [port [, address]] [, callback]), connect(port [, address] [, callback])
      const numbers = given.map((g, n) => [g, n]).filter(([g]) => typeof g === "number");
      const at = name === "connect" ? 0 : numbers.length ? numbers[numbers.length - 1][1] : -1;
      if (at >= 0 && (name === "connect" || numbers.length !== 2)) {
        const host = typeof given[at + 1] === "string" ? given[at + 1] : "localhost";
        const error = refused(host, Number(given[at]), "udp");
        if (error) {
          const done = given[given.length - 1];
          if (typeof done === "function") process.nextTick(() => done(error));
          else process.nextTick(() => this.emit("error", error));
          return undefined;
        }
      }
      return original.apply(this, given);
    };
  }

  // Requests.

  function marks(host, port, original) {
    const found = {};
    const away = isRedirected(host, port);
    if (world && (away || (host === simulation.host && port === simulation.port))) found[WORLD_HEADER] = world;
    if (away) found[URL_HEADER] = original;
    return found;
  }

  const request = http.request;
  // Without keeping alive: a response that nobody reads would hold the process for as long as the server waits.
  const agent = new http.Agent({ keepAlive: false });

  function turned(own, scheme) {
    return function (...given) {
      const done = given.find((part) => typeof part === "function");
      let options = {};
      for (const part of given) {
        if (typeof part === "function") continue;
        if (typeof part === "string") options = { ...options, ...urlToHttpOptions(new URL(part)) };
        else if (part instanceof URL) options = { ...options, ...urlToHttpOptions(part) };
        else if (part) options = { ...options, ...part };
      }
      if (options.socketPath) return own.apply(this, given);
      const protocol = options.protocol || options.agent?.protocol || `${scheme}:`;
      let host = plain(options.hostname || options.host || "localhost");
      let port = Number(options.port || options.defaultPort) || (protocol === "https:" ? 443 : 80);
      const target = options.path || "/";
      const shown = (host.includes(":") ? `[${host}]` : host) + (port === (protocol === "https:" ? 443 : 80) ? "" : `:${port}`);
      let original = `${protocol}//${shown}${target}`;
      if (/^https?:\/\//.test(target)) {
        // A proxy is asked: the request line has the whole URL.
        ({ host, port } = authority(target));
        original = target;
      }
      const marked = marks(host, port, original);
      if (!Object.keys(marked).length) return own.apply(this, given);
      const headers = Array.isArray(options.headers) ? [...options.headers] : { ...options.headers };
      const named = (name) =>
        Array.isArray(headers)
          ? headers.some((h) => String(Array.isArray(h) ? h[0] : h).toLowerCase() === name)
          : Object.keys(headers).some((h) => h.toLowerCase() === name);
      const add = (name, value) => {
        if (!Array.isArray(headers)) headers[name] = value;
        else if (Array.isArray(headers[0])) headers.push([name, value]);
        else headers.push(name, value);
      };
      for (const [name, value] of Object.entries(marked)) add(name, value);
      if (!marked[URL_HEADER]) return own.call(this, { ...options, headers }, done);
      if (!named("host")) add("Host", shown);
      const { createConnection, lookup, servername, ...rest } = options;
      const there = { protocol: "http:", hostname: simulation.host, host: simulation.host, port: simulation.port };
      return request.call(this, { ...rest, ...there, defaultPort: 80, agent, headers }, done);
    };
  }

  for (const [module, scheme] of [[http, "http"], [https, "https"]]) {
    const turnedRequest = turned(module.request, scheme);
    module.request = turnedRequest;
    module.get = function (...given) {
      const made = turnedRequest.apply(this, given);
      made.end();
      return made;
    };
  }

  const originalFetch = globalThis.fetch;
  globalThis.fetch = async function fetch(input, init) {
    const asked = new Request(input, init);
    const url = new URL(asked.url);
    url.hash = "";
    const place = authority(asked.url);
    const marked = /^https?:$/.test(url.protocol) ? marks(place.host, place.port, url.href) : {};
    const headers = new Headers(asked.headers);
    for (const [name, value] of Object.entries(marked)) headers.set(name, value);
    const { method, body, redirect, signal } = asked;
    const options = { method, body, redirect, signal, headers, duplex: "half" };
    // A dispatcher of the caller's is a proxy or the like: it is for what goes its own way.
    if (!marked[URL_HEADER]) return originalFetch(asked.url, { ...options, dispatcher: init?.dispatcher });
    const there = new URL(url.pathname + url.search, process.env.SEARCHSIM_REDIRECT_URL);
    const response = await originalFetch(there, options);
    return Object.defineProperty(response, "url", { value: asked.url });
  };

  // Children.

  function restored(environment) {
    const env = { ...environment, ...kept };
    const paths = (env.PYTHONPATH || "").split(path.delimiter).filter((p) => p && p !== __dirname);
    env.PYTHONPATH = [__dirname, ...paths].join(path.delimiter);
    if (!(env.NODE_OPTIONS || "").includes(__filename))
      env.NODE_OPTIONS = `--require "${__filename}" ${env.NODE_OPTIONS || ""}`.trim();
    return env;
  }

  const spawn = childProcess.ChildProcess.prototype.spawn;
  childProcess.ChildProcess.prototype.spawn = function (options) {
    if (options && Array.isArray(options.envPairs)) {
      const given = Object.fromEntries(options.envPairs.map((p) => [p.slice(0, p.indexOf("=")), p.slice(p.indexOf("=") + 1)]));
      options.envPairs = Object.entries(restored(given)).map(([name, value]) => `${name}=${value}`);
      tellUnhooked(options.file, options.args);
    }
    return spawn.call(this, options);
  };
  for (const name of ["spawnSync", "execFileSync", "execSync"]) {
    const original = childProcess[name];
    childProcess[name] = function (...given) {
      const at = given.findIndex((g, n) => n > 0 && g && typeof g === "object" && !Array.isArray(g));
      const options = at < 0 ? {} : given[at];
      const fixed = { ...options, env: restored(options.env || process.env) };
      if (at < 0) given.push(fixed);
      else given[at] = fixed;
      tellUnhooked(given[0], Array.isArray(given[1]) ? [given[0], ...given[1]] : []);
      return original.apply(this, given);
    };
  }

  workers.Worker = class Worker extends workers.Worker {
    constructor(file, options) {
      const env = options?.env;
      super(file, env && env !== workers.SHARE_ENV ? { ...options, env: restored(env) } : options);
    }
  };

  /** Tell of a child that no hook enters. */
  function tellUnhooked(file, args) {
    const name = path.basename(String(file));
    const isolated = /^(python|pypy)/.test(name) && isIsolated((args || []).slice(1).map(String));
    if (isolated || ["deno", "bun"].includes(name))
      tell({ event: "unhooked", command: [name, ...(args || []).slice(1)].join(" ").slice(0, 200) });
  }

  function isIsolated(options) {
    for (let n = 0; n < options.length; n++) {
      const word = options[n];
      if (!word.startsWith("-") || word === "-" || word === "--") return false;
      const found = /^-([^cmWX-]*)([cmWX]?)(.*)$/.exec(word);
      if (!found) continue;
      if (/[ISE]/.test(found[1])) return true;
      if (found[2] === "c" || found[2] === "m") return false;
      if (found[2] && !found[3]) n++;
    }
    return false;
  }

  syncBuiltinESMExports();
  tell({ event: "hooked", pid: process.pid, program: `Node ${process.versions.node.split(".")[0]}` });
}

#!/usr/bin/env node
// The command `legwork` of the npm package: starts the program that came with it, and is out of the
// way. Where Node can, it becomes that program.

import { spawn } from "node:child_process"
import { constants } from "node:os"
import { fileURLToPath } from "node:url"
import { find, isProgram, isSame } from "../find.js"

const args = process.argv.slice(2)
const env = { ...process.env, LEGWORK_INSTALLED_BY: "npm" }
// Who sets it to what `which legwork` says means this file, and would start it for ever.
const own = fileURLToPath(import.meta.url)
if (env.LEGWORK_BIN && isSame(env.LEGWORK_BIN, own)) delete env.LEGWORK_BIN

const { path, why } = find({ onPath: false, env })
if (!path) fail(`${why}.`)

// Node (22.23) ends itself with a stack trace when this fails, so the usual reasons are left to the
// other way, which has words for them.
if (typeof process.execve === "function" && isProgram(path)) {
  // Node ignores this signal. A handler of ours does not survive the change of program; what is
  // ignored would.
  process.on("SIGXFSZ", () => {})
  process.execve(path, [path, ...args], env)
}

// Before the program is there: a signal that comes at once is for it too.
let child
for (const signal of ["SIGHUP", "SIGTERM", "SIGUSR2"]) process.on(signal, () => child?.kill(signal))
for (const signal of ["SIGINT", "SIGQUIT"]) {
  // A terminal sends these to both already, and the second one might mean something else.
  process.on(signal, () => process.stdin.isTTY || child?.kill(signal))
}
child = spawn(path, args, { stdio: "inherit", env })
child.on("error", (error) => fail(`${path} cannot be started (${error.code ?? error.message}).`))
child.on("exit", (code, signal) => process.exit(signal ? 128 + constants.signals[signal] : code))

function fail(words) {
  console.error(`legwork: ${words}`)
  process.exit(1)
}

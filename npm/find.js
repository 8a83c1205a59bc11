// Where the program is that belongs to this package. The plugin, its part for the terminal UI and
// the launcher all ask here. Nothing is downloaded, and there is no install script: npm and
// OpenCode bring the program as an optional dependency, the one that fits the system.

import { accessSync, constants, realpathSync, statSync } from "node:fs"
import { createRequire } from "node:module"
import { delimiter, isAbsolute, join, sep } from "node:path"
import { fileURLToPath } from "node:url"

const VERSION = "@LEGWORK_VERSION@"
// One for each system, whatever its C library: the programs for Linux are static.
const SYSTEMS = ["linux-x64", "linux-arm64", "darwin-x64", "darwin-arm64"]

/**
 * `path`, or `why` there is none and what to do, as a sentence without its full stop. The launcher
 * is what a person's PATH leads to, so it does not look there: it might find itself.
 */
export function find({ onPath = true, env = process.env, from = import.meta.url } = {}) {
  const { platform, arch } = process
  if (env.LEGWORK_BIN) return { path: env.LEGWORK_BIN }
  const path = packed(`${platform}-${arch}`, from) ?? (onPath ? onThePath(env) : undefined)
  return path ? { path } : { why: missing(platform, arch, fileURLToPath(from)) }
}

function packed(system, from) {
  if (!SYSTEMS.includes(system)) return
  try {
    return createRequire(from).resolve(`legwork-${system}/bin/legwork`)
  } catch {}
}

function onThePath(env) {
  if (process.platform === "win32") return
  const folders = (env.PATH ?? "").split(delimiter).filter(isAbsolute)
  return folders.map((folder) => join(folder, "legwork")).find(isProgram)
}

/** Whether somebody may run this file. */
export function isProgram(path) {
  try {
    accessSync(path, constants.X_OK)
    return statSync(path).isFile()
  } catch {
    return false
  }
}

function missing(platform, arch, own) {
  const system = `${platform}-${arch}`
  if (platform === "win32") return "there is no legwork for Windows. Use it inside WSL"
  if (!SYSTEMS.includes(system)) {
    const so = `there is no legwork for ${system} on npm`
    return `${so}. Build it from its source, and put it on the PATH`
  }
  const so = `the program for ${system} was not installed with the package`
  // OpenCode never completes an installation that it finds in its cache.
  const parts = own.split(sep)
  const at = parts.lastIndexOf("packages")
  if (at > 0 && parts[at - 1] === "opencode" && parts[at + 2] === "node_modules") {
    const folder = parts.slice(0, at + 2).join(sep)
    return `${so}. Remove the folder ${folder} and restart OpenCode, which installs it again`
  }
  return `${so}. Install it again with its optional dependencies: npm install -g legwork@${VERSION}`
}

/** Whether two paths lead to the same file. */
export function isSame(one, other) {
  try {
    return realpathSync(one) === realpathSync(other)
  } catch {
    return false
  }
}

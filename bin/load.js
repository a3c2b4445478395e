'use strict'
const { existsSync, readFileSync } = require('node:fs')
const nodeModule = require('node:module')
const { dirname, join } = require('node:path')
const { debuglog } = require('node:util')
const { Script } = require('node:vm')

const debug = debuglog('board')
const fileOf = name => join(__dirname, '..', 'dist', `${name}.cjs`)
/** Where the build keeps what V8 made of a program. */
const codeCacheOf = name => `${fileOf(name)}.cache`

/**
 * Loads a program of dist/. From Node 22 on, Node keeps compiled code by itself. On Node 20 the code is taken that the build has
 * kept (measured: `board cards list` takes 50 instead of 72 ms, a server's start 220 instead of 350 ms of processor). V8 refuses
 * what another version of Node has made; the program is compiled then. NODE_DEBUG=board tells which it was.
 */
function load(name) {
  if (!nodeModule.enableCompileCache) return loadKept(name)
  nodeModule.enableCompileCache()
  return require(fileOf(name))
}

const loadKept = name =>
  run(compile(name, existsSync(codeCacheOf(name)) ? readFileSync(codeCacheOf(name)) : undefined), name)

/** A program as V8 has it, which can tell its code for the next time. */
function compile(name, cachedData) {
  // The build leaves nothing but ASCII in it.
  const source = readFileSync(fileOf(name), 'latin1')
  const script = new Script(`(function (exports, require, module, __filename, __dirname) {${source}\n})`, {
    filename: fileOf(name),
    cachedData,
  })
  debug('%s: kept code %s', name, cachedData === undefined ? 'missing' : script.cachedDataRejected ? 'refused' : 'used')
  return script
}

function run(script, name) {
  const loaded = { exports: {} }
  const file = fileOf(name)
  script.runInThisContext()(loaded.exports, requireFrom(file, loaded), loaded, file, dirname(file))
  return loaded.exports
}

/**
 * A program's `require`, which loads the packages of dist/packages once for it, by the code that is kept of them. V8 takes that under
 * the flags that it was made with only; a server sets some once it runs.
 */
function requireFrom(file, program) {
  const required = nodeModule.createRequire(file)
  const packages = new Map()
  const requirePackage = id => {
    const [, name] = /^\.\/(packages\/.+)\.cjs$/.exec(id) ?? []
    if (name === undefined) return required(id)
    const { withoutV8Flags = load => load() } = program.exports
    if (!packages.has(name))
      packages.set(
        name,
        withoutV8Flags(() => loadKept(name)),
      )
    return packages.get(name)
  }
  return Object.assign(requirePackage, required)
}

module.exports = { load, compile, run, codeCacheOf }

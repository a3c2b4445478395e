#!/usr/bin/env node
'use strict'
const { existsSync, readFileSync } = require('node:fs')
const { dirname, join } = require('node:path')
const { pathToFileURL } = require('node:url')

const root = join(__dirname, '..')
const main = join(root, 'dist', 'cli', 'main.cjs')
const [major, minor] = process.versions.node.split('.').map(Number)

if (major < 20 || (major === 20 && minor < 19))
  refuse(`board needs Node 20.19 or later, and this is ${process.version}`)
else if (!existsSync(main) || !existsSync(join(root, 'node_modules'))) refuse('board is not built yet; run: npm ci')
else if (process.argv.length === 3 && /^(-V|--version)$/.test(process.argv[2]))
  process.stdout.write(`${require('../package.json').version}\n`)
else module.exports = run()

function refuse(reason) {
  process.stderr.write(`${reason}\n`)
  process.exitCode = 1
}

/** Runs the built program. Returns its scripts by their files, for the build to make V8's cache of them. */
function run() {
  const { Script } = require('node:vm')
  const module = require('node:module')
  module.enableCompileCache?.()
  const scripts = new Map()
  // In a script that comes from the cache, import() does not work: this one stands in for it.
  const boardImport = async name =>
    name.endsWith('.cjs')
      ? load(join(dirname(main), name))
      : import(name.startsWith('.') ? pathToFileURL(join(dirname(main), name)) : name)
  // V8 ignores a cache that another Node made. The files are ASCII.
  const load = (file, boardOther) => {
    const cache = `${file}.cache`
    const script = new Script(readFileSync(file, 'latin1'), {
      filename: file,
      cachedData: existsSync(cache) ? readFileSync(cache) : undefined,
    })
    scripts.set(file, script)
    const part = { exports: {} }
    script.runInThisContext()(
      part.exports,
      module.createRequire(file),
      part,
      file,
      dirname(file),
      boardImport,
      boardOther,
    )
    return part.exports
  }
  let rest
  const modules = load(main, path => (rest ??= load(join(dirname(main), 'rest.cjs'), path => modules[path]()))[path]())
  return scripts
}

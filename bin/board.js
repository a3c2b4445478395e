#!/usr/bin/env node
'use strict'
const { existsSync, readFileSync } = require('node:fs')
const { dirname, join } = require('node:path')
const { pathToFileURL } = require('node:url')

const root = join(__dirname, '..')
const main = join(root, 'dist', 'cli', 'main.cjs')
const [major, minor] = process.versions.node.split('.').map(Number)

if (major < 20 || (major === 20 && minor < 19)) refuse(`board needs Node 20.19 or later, and this is ${process.version}`)
else if (!existsSync(main) || !existsSync(join(root, 'node_modules'))) refuse('board is not built yet; run: npm ci')
else if (process.argv.length === 3 && /^(-V|--version)$/.test(process.argv[2])) process.stdout.write(`${require('../package.json').version}\n`)
else module.exports = run()

function refuse(reason) {
  process.stderr.write(`${reason}\n`)
  process.exitCode = 1
}

/** Runs the built program. Returns its scripts, those that are loaded later too, by file. */
function run() {
  const { Script } = require('node:vm')
  const module = require('node:module')
  module.enableCompileCache?.()
  const scripts = new Map()
  /** A script comes with V8's cache of it, which the build leaves beside it; V8 ignores one that another Node made. */
  const load = file => {
    const cache = `${file}.cache`
    const source = `(function (exports, require, module, __filename, __dirname, boardImport) {${readFileSync(file, 'latin1')}\n})`
    const script = new Script(source, { filename: file, cachedData: existsSync(cache) ? readFileSync(cache) : undefined })
    scripts.set(file, script)
    // In a script that comes from the cache, import() does not work: this one stands in for it.
    const boardImport = async name => name.endsWith('.cjs') ? load(join(dirname(file), name)) : import(name.startsWith('.') ? pathToFileURL(join(dirname(file), name)) : name)
    const loaded = { exports: {} }
    script.runInThisContext()(loaded.exports, module.createRequire(file), loaded, file, dirname(file), boardImport)
    return loaded.exports
  }
  load(main)
  return scripts
}

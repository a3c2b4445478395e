#!/usr/bin/env node
'use strict'
// CommonJS that old versions of Node can parse: they report which version the board requires.
const { existsSync } = require('node:fs')
const { enableCompileCache } = require('node:module')
const { join } = require('node:path')

const [major, minor] = process.versions.node.split('.').map(Number)

if (major < 20 || (major === 20 && minor < 19))
  fail(`board requires Node 20.19 or later, and this is ${process.version}`)
else if (!existsSync(join(__dirname, '..', 'dist', 'board.js'))) fail('board is not built; run: npm ci')
else if (process.argv.length === 3 && /^(-V|--version)$/.test(process.argv[2]))
  process.stdout.write(`${require('../package.json').version}\n`)
else void start()

async function start() {
  // Available in Node 22 and later.
  if (enableCompileCache) enableCompileCache()
  const { main } = await import('../dist/board.js')
  await main(process.argv.slice(2), { path: __filename, server: () => import('../dist/server.js') })
}

function fail(reason) {
  process.stderr.write(`${reason}\n`)
  process.exitCode = 1
}

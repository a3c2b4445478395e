#!/usr/bin/env node
'use strict'
// Runs on any Node, to say which one is needed.
const { existsSync } = require('node:fs')
const { join } = require('node:path')

const [major, minor] = process.versions.node.split('.').map(Number)

if (major < 20 || (major === 20 && minor < 19))
  refuse(`board needs Node 20.19 or later, and this is ${process.version}`)
else if (!existsSync(join(__dirname, '..', 'dist', 'board.cjs'))) refuse('board is not built yet; run: npm ci')
else if (process.argv.length === 3 && /^(-V|--version)$/.test(process.argv[2]))
  process.stdout.write(`${require('../package.json').version}\n`)
else start()

/** The command line, and the programs that some commands start. */
function start() {
  const { load } = require('./load.js')
  load('board').main(process.argv.slice(2), {
    path: __filename,
    server: async () => load('server'),
    watching: () => import('../dist/watch/watchList.js'),
  })
}

function refuse(reason) {
  process.stderr.write(`${reason}\n`)
  process.exitCode = 1
}

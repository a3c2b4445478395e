#!/usr/bin/env node
'use strict'
// Runs on any Node, to say which one is needed.
const { existsSync } = require('node:fs')
const { join } = require('node:path')
const { pathToFileURL } = require('node:url')

const root = join(__dirname, '..')
const main = join(root, 'dist', 'cli', 'main.js')
const [major, minor] = process.versions.node.split('.').map(Number)

if (major < 20 || (major === 20 && minor < 19))
  refuse(`board needs Node 20.19 or later, and this is ${process.version}`)
else if (!existsSync(main)) refuse('board is not built yet; run: npm ci')
else if (process.argv.length === 3 && /^(-V|--version)$/.test(process.argv[2]))
  process.stdout.write(`${require('../package.json').version}\n`)
else {
  require('node:module').enableCompileCache?.()
  import(pathToFileURL(main))
}

function refuse(reason) {
  process.stderr.write(`${reason}\n`)
  process.exitCode = 1
}

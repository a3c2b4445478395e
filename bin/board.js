#!/usr/bin/env node
import { existsSync } from 'node:fs'
import module from 'node:module'

const main = new URL('../dist/main.js', import.meta.url)
const [major, minor] = process.versions.node.split('.').map(Number)
const wrong = major < 20 || (major === 20 && minor < 19) ? `board needs Node 20.19 or later, and this is ${process.version}`
  : !existsSync(main) || !existsSync(new URL('../node_modules', import.meta.url)) ? 'board is not built yet; run: npm ci' : ''

if (wrong) {
  process.stderr.write(`${wrong}\n`)
  process.exitCode = 1
} else {
  module.enableCompileCache?.()
  await import(main)
}

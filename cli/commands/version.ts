import type { Command } from 'commander'
import manifest from '../../package.json' with { type: 'json' }
import { globalsOf } from '../globals.ts'
import { example } from '../help.ts'
import { openOut } from '../openOut.ts'

export function register(command: Command): void {
  example(command, 'board version', 'board version --json').action(async () => {
    const row = { version: manifest.version, node: process.versions.node, platform: `${process.platform}-${process.arch}` }
    await openOut(globalsOf(command)).out.record(row, [
      { name: 'version', value: each => each.version }, { name: 'node', value: each => each.node }, { name: 'platform', value: each => each.platform },
    ])
  })
}

import type { Command } from 'commander'
import type { Globals } from '../parsing/globals.ts'
import { Out } from './output.ts'
import { readSettings, type Settings } from '../context/profiles.ts'
import { lookAtTerminal } from './terminal.ts'

/**
 * Creates the output of a command that needs no server, its settings from the configuration file, and whether it can prompt.
 */
export function createOutput(
  globals: Globals,
  settings: Settings = readSettings(),
  command?: Command,
): { out: Out; mayAsk: boolean; settings: Settings } {
  const terminal = lookAtTerminal(
    globals.color === false ? 'never' : (globals.color ?? (settings.config?.color === 'off' ? 'never' : 'auto')),
  )
  const out = new Out({
    terminal,
    json: globals.json,
    jq: globals.jq,
    template: globals.template,
    fields: async () => (command ? (await import('../help/fieldNames.ts')).fieldNames(command) : []),
    quiet: globals.quiet,
    pager: settings.config?.pager,
  })
  const mayAsk = globals.input !== false && settings.config?.prompt !== 'off' && terminal.stdin && terminal.stderr
  return { out, mayAsk, settings }
}

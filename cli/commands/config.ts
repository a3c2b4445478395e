import type { Command } from 'commander'
import { offerWords } from '../parsing/arguments.ts'
import { usage } from '../failures/failure.ts'
import { globalsOf } from '../parsing/globals.ts'
import { example, prints } from '../help/help.ts'
import { createOutput } from '../output/createOutput.ts'
import { changeSettings, configFile, configKeys, type ConfigKey } from '../context/profiles.ts'
import { nearestWords } from '../output/text.ts'

const keys = Object.keys(configKeys)
const ownCommands = `
To add keys to board ui, list shell commands in the configuration file. Each
command gets the variables BOARD_CARD_ID, BOARD_CARD_IDS (all selected cards),
BOARD_CARD_TITLE, BOARD_CARD_STATUS, BOARD_CARD_COLUMN, BOARD_CARD_BRANCH, BOARD_PROJECT, BOARD_PROJECT_NAME and BOARD_URL.
  "commands": [
    {"key": "ctrl+t", "name": "Run the tests", "run": "npm test"},
    {"key": "b", "name": "Notify", "run": "notify-send \\"$BOARD_CARD_TITLE\\"", "background": true}
  ]`
const switches = ['on', 'off']
/** The allowed values of settings that accept a fixed set. */
const choicesOf: Partial<Record<ConfigKey, readonly string[]>> = {
  prompt: switches,
  color: switches,
  mouse: switches,
  preview: switches,
  density: ['compact', 'comfortable'],
}

export function register(command: Command): void {
  command.addHelpText(
    'after',
    `\nKeys:\n${Object.entries(configKeys)
      .map(([key, meaning]) => `  ${key.padEnd(9)}${meaning}`)
      .join('\n')}
${ownCommands}`,
  )
  prints(
    example(
      command
        .command('list')
        .summary('List settings')
        .description('List the settings of this command line with their descriptions.'),
      'board config list',
    ),
    null,
    'key value meaning',
  ).action(() => list(command))
  prints(
    example(
      offerWords(keys, command.command('get [key]'))
        .summary('Show a setting, or all')
        .description('Show a setting of this command line, or all of them.'),
      'board config get pager',
    ),
    null,
    'key value meaning',
  ).action((key?: string) => get(command, key))
  example(
    offerWords(keys, command.command('set <key> <value>'))
      .summary('Change a setting')
      .description('Change a setting of this command line. An empty value removes it.'),
    'board config set editor "code --wait"',
    'board config set pager ""',
  ).action((key: string, value: string) => set(command, key, value))
  example(
    command.command('path').summary('Show the path of the configuration file'),
    'cat "$(board config path)"',
  ).action(() => createOutput(globalsOf(command)).out.line(configFile()))
}

async function list(command: Command): Promise<void> {
  const { out, settings } = createOutput(globalsOf(command))
  const config: Partial<Record<string, string>> = settings.config ?? {}
  const rows = Object.entries(configKeys).map(([key, meaning]) => ({ key, value: config[key] ?? null, meaning }))
  await out.list(rows, [
    { name: 'key', value: row => row.key },
    { name: 'value', value: row => row.value },
    { name: 'meaning', style: 'text', value: row => row.meaning },
  ])
}

async function get(command: Command, key: string | undefined): Promise<void> {
  if (key === undefined) return list(command)
  const { out, settings } = createOutput(globalsOf(command))
  const config: Partial<Record<string, string>> = settings.config ?? {}
  requireKnown(key)
  if (out.json) return out.value(config[key] ?? null)
  if (config[key] !== undefined) out.line(config[key])
}

async function set(command: Command, key: string, value: string): Promise<void> {
  requireKnown(key)
  const choices = choicesOf[key]
  if (choices && value !== '' && !choices.includes(value))
    throw usage(`${key} must be ${choices.join(' or ')}, not "${value}"`)
  if (key === 'timeout' && !/^(\d{1,6}[smhd]?)?$/.test(value))
    throw usage(`timeout must be a duration, such as 30s or 5m, not "${value}"`)
  await changeSettings(settings => {
    const { [key]: _old, ...rest } = settings.config ?? {}
    return { ...settings, config: value === '' ? rest : { ...rest, [key]: value } }
  })
  createOutput(globalsOf(command)).out.done(value === '' ? `Unset ${key}.` : `Set ${key}.`)
}

function requireKnown(key: string): asserts key is ConfigKey {
  if (Object.hasOwn(configKeys, key)) return
  const meant = nearestWords(key, keys)
  throw usage(`there is no setting "${key}"`, {
    hint: meant.length > 0 ? `did you mean: ${meant.join(', ')}` : `known: ${keys.join(', ')}`,
    see: 'board config --help',
  })
}

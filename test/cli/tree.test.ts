import type { Command } from 'commander'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createProgram, loadAll } from '../../cli/program.ts'
import { commandLine, type CommandLine, type Ran } from '../commandLine.ts'
import { startBoard, type TestBoard } from '../helper.ts'

/** Commands that need no server. What they do without one, other tests say. */
const local = /^(auth token|browse|completion|config|help|profile|serve|server|version|doctor|backups (verify|restore)|cards checkout)\b/
/** Commands that go on until they are ended, or open a screen. */
const goesOn = /^(events|mcp|ui|serve|logs --follow)\b/
/** Commands that anybody may call. */
const open = /^(auth (setup|login|register|status|logout)|api|browse)\b/
/** What stands behind a command so that it is complete, where its arguments alone do not do. */
const completing: Record<string, string[]> = {
  'api': ['/api/auth/me'], 'auth login': ['--email', 'a@example.org', '--password-stdin'], 'auth register': ['--email', 'a@example.org', '--password-stdin'], 'auth setup': ['--email', 'a@example.org', '--password-stdin'],
  'agents send': ['999999', 'Hello'], 'assistant send': ['Hello'], 'presession send': ['999999', 'Hello'], 'cards edit': ['999999', '--title', 'x'], 'cards add': ['x'], 'cards delete': ['999999', '--yes'], 'cards move': ['999999', '--to', 'Done'], 'columns edit': ['999999', '--name', 'x'], 'credentials add': ['x', '--provider', 'openai', '--api-key-stdin'],
  'credentials edit': ['999999', '--name', 'x'], 'projects edit': ['999999', '--name', 'x'], 'settings set': ['user', '-f', 'theme=dark'], 'templates create': ['x', '--column', 'A:backlog'], 'templates edit': ['999999', '--name', 'x'], 'users edit': ['999999', '--name', 'x'],
  'users reset-password': ['999999', '--yes'],
}

let board: TestBoard
let signedIn: CommandLine
let alone: CommandLine
let commands: Array<{ name: string; command: Command; words: string[] }>

beforeAll(async () => {
  board = await startBoard()
  await board.client.auth.setup({ email: 'ada@example.org', password: 'correct horse' })
  await board.client.projects.create({ name: 'web', path: board.folder('web') })
  signedIn = commandLine({ BOARD_URL: board.url, BOARD_TOKEN: board.token, BOARD_PROJECT: 'web' })
  alone = commandLine()
  commands = leaves(await loadAll(createProgram())).map(command => ({ name: nameOf(command), command, words: wordsOf(command) }))
}, 60_000)
afterAll(async () => {
  signedIn.close()
  alone.close()
  await board.close()
})

const leaves = (command: Command): Command[] => command.commands.length > 0 ? command.commands.flatMap(leaves) : [command]
const nameOf = (command: Command): string => command.parent?.parent ? `${nameOf(command.parent)} ${command.name()}` : command.name()

/** A whole command line: each argument gets its first choice, or an id that nothing has. */
function wordsOf(command: Command): string[] {
  const name = nameOf(command)
  const required = command.registeredArguments.filter(each => each.required).map(({ argChoices }) => argChoices?.[0] ?? '999999')
  const mandatory = command.options.filter(each => each.mandatory).flatMap(({ long, argChoices }) => [long!, argChoices?.[0] ?? '60'])
  return [...name.split(' '), ...completing[name] ?? required, ...mandatory]
}

/** Runs a command line for each of these commands, a few at a time. */
async function each(chosen: typeof commands, run: (words: string[]) => Promise<Ran>): Promise<Array<Ran & { name: string }>> {
  const results: Array<Ran & { name: string }> = []
  const waiting = [...chosen]
  const worker = async () => {
    for (let next = waiting.shift(); next; next = waiting.shift()) results.push({ name: next.name, ...await run(next.words) })
  }
  await Promise.all(Array.from({ length: 4 }, worker))
  return results.sort((a, b) => a.name.localeCompare(b.name))
}

const exitsOf = (results: Array<Ran & { name: string }>) => Object.fromEntries(results.map(({ name, code }) => [name, code]))
const all = (results: Array<{ name: string }>, code: number) => Object.fromEntries(results.map(({ name }) => [name, code]))

/** Errors are short lines on stderr that begin with the program's name, and nobody reads a stack. */
function expectTidy({ name, code, stdout, stderr }: Ran & { name: string }): void {
  expect(`${stdout}${stderr}`, name).not.toMatch(/^\s+at .+:\d+:\d+|node:internal|\[object Object\]|undefined/m)
  if (code === 0) return
  if (stdout !== '') expect(JSON.parse(stdout), name).toMatchObject([{ result: 'failed' }])
  expect(stderr, name).toMatch(/^board: /m)
}

describe('every command', () => {
  test('has help with how to call it, what it does and an example', () => {
    expect(commands.length).toBeGreaterThan(100)
    for (const { name, command } of commands.filter(({ name }) => name !== 'help')) {
      let help = ''
      command.configureOutput({ writeOut: text => { help += text } })
      command.outputHelp()
      expect(help, name).toMatch(new RegExp(`^Usage: board ${name}.*\\n(Alias.*\\n)?\\n\\S.+`))
      expect(help, name).toMatch(/^Examples:\n {2}\S/m)
      for (const line of help.split('\n')) expect(line.length, `${name}: ${line}`).toBeLessThan(220)
    }
  })

  test('says that no server runs, and ends with 7', async () => {
    const results = await each(commands.filter(({ name }) => !local.test(name)), words => alone.board([...words, '--no-input']))
    expect(exitsOf(results)).toEqual(all(results, 7))
    results.forEach(expectTidy)
  }, 60_000)

  // The terminal board first looks for its terminal, which is missing here too.
  test('says that a sign-in is missing, and ends with 4', async () => {
    const results = await each(commands.filter(({ name }) => !local.test(name) && !open.test(name) && name !== 'ui'), words => alone.board([...words, '--no-input', '--url', board.url, '-P', '1']))
    expect(exitsOf(results)).toEqual(all(results, 4))
    results.forEach(expectTidy)
  }, 60_000)

  test('in a pipe prints data or an error, asks nothing and does not wait', async () => {
    const results = await each(commands.filter(({ name }) => !goesOn.test(name) && !local.test(name) && name !== 'auth logout'), words => signedIn.board([...words, '--json']))
    for (const result of results) {
      expectTidy(result)
      // No agent is installed for the assistant.
      expect(result.name === 'assistant send' ? [7] : [0, 1, 2, 3, 5], result.name).toContain(result.code)
      if (result.code === 0 && result.stdout !== '') expect(() => { JSON.parse(result.stdout) }, result.name).not.toThrow()
    }
  }, 60_000)
})

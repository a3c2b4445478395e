import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { topics } from '../../cli/help/topics.ts'
import { commandLine, inTurn, type CommandLine } from '../support/commands/commandLine.ts'
import { boardLines, parsed } from '../support/commands/shellLines.ts'

let cli: CommandLine
beforeAll(() => {
  cli = commandLine()
})
afterAll(() => cli.close())

describe('board help with words that are neither a command nor a topic', () => {
  const searches = [
    ['https behind nginx', 'help proxy'],
    ['start an agent when a card moves to a column', 'cards move'],
    ['what agents spend per month', 'help recipes'],
    ['squash merge into another branch', 'cards merge'],
    ['merge', 'cards merge'],
    ['monthly budget', 'budgets'],
    ['every monday', 'help recipes'],
    ['run cards in order', 'help recipes'],
    ['use a server on another machine', 'help recipes'],
    ['give an agent a secret', 'help recipes'],
    ['trello', 'import'],
    ['import GitHub issues', 'import'],
    ['allow host in sandbox', 'help recipes'],
    ['egress', 'projects sandbox'],
    ['nightly backup', 'help recipes'],
    ['restore a backup', 'backups restore'],
    ['cursor', 'mcp'],
    ['cost', 'usage'],
    ['slack', 'webhooks'],
    ['cards merge squash', 'cards merge'],
  ] as const

  test('lists at most five commands and topics, best first', async () => {
    const ended = await inTurn(
      cli,
      searches.map(([words]) => ['help', ...words.split(' ')]),
    )
    expect(
      ended.map(({ code, stdout, stderr }, at) => [
        searches[at]![0],
        code,
        stdout.trimEnd().split('\n').at(-1),
        stderr,
      ]),
    ).toEqual(searches.map(([words, best]) => [words, 0, `Details: board help ${best.replace(/^help /, '')}`, '']))
    expect(ended[0]!.stdout).toContain('\n  board help proxy    How to run a server with HTTPS behind nginx\n')
    expect(ended.find((_, at) => searches[at]![0] === 'every monday')!.stdout).toContain(
      '\n  board help recipes  Schedule a card: once at a set time, or every Monday at\n',
    )
    for (const { stdout } of ended) expect(stdout.match(/^ {2}board /gm)!.length).toBeLessThan(6)
  })

  test('prints the results of a search as JSON, and rejects --json for a command and a topic', async () => {
    expect(JSON.parse(await cli.ok(['help', 'squash', '--json']))).toContainEqual({
      command: 'board cards merge',
      summary: "Merge a card's branch",
    })
    expect(await cli.ok(['help', 'squash', '--jq', '.[0].command'])).toBe('board help recipes\n')
    for (const words of [['cards', 'merge'], ['scripting'], []])
      expect(await cli.board(['help', ...words, '--json'])).toMatchObject({ code: 2, stdout: '' })
  })

  test('fails with 2 and suggests a similar name if the search finds nothing', async () => {
    expect(await cli.board(['help', 'quux', 'frob'])).toEqual({
      code: 2,
      stdout: '',
      stderr: 'board: there is no command or topic "quux"\nsee: board help\n',
    })
    expect((await cli.board(['help', 'schedules', 'create'])).stderr).toContain('did you mean: board schedules add')
  })
})

describe('the topics', () => {
  test('are all in the help of the program', async () => {
    expect(await cli.ok(['help'])).toContain(`  ${Object.keys(topics).join(', ')}\n`)
  })

  test('contain only valid command lines of proxies and recipes', async () => {
    const lines = [topics.proxy!, topics.recipes!].flatMap(({ text }) => text().match(/^ {2}.*\bboard .*$/gm) ?? [])
    expect(lines.length).toBeGreaterThan(15)
    for (const words of lines.flatMap(boardLines)) await expect(parsed(words), words.join(' ')).resolves.toBeTruthy()
  })

  test('configure nginx with the settings of docs/operations.md, which a test runs', () => {
    const settings = topics.proxy!.text().match(/^ {6,}(client|proxy)_(?!pass\b).*;$/gm)!
    const documented = readFileSync(resolve('docs/operations.md'), 'utf8')
    expect(settings).toHaveLength(10)
    for (const setting of settings) expect(documented).toContain(setting.trim())
  })
})

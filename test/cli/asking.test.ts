import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { commandLine, type CommandLine } from '../support/commands/commandLine.ts'
import { startBoard, type TestBoard } from '../support/servers/testBoard.ts'
import { onTerminal as runOnTerminal, type Answer } from '../support/terminals/onTerminal.ts'

let board: TestBoard
let cli: CommandLine
let projectId: string

beforeAll(async () => {
  board = await startBoard()
  projectId = (await board.client.projects.create({ name: 'web', path: board.folder('web') })).id
  cli = commandLine({ BOARD_URL: board.url, BOARD_TOKEN: board.token, BOARD_PROJECT: projectId })
})
afterAll(async () => {
  cli.close()
  await board.close()
})

const newCard = async (title: string, prompt = '') => (await board.client.cards.create({ projectId, title, prompt })).id
const card = (id: string) => board.client.cards.get({ projectId, cardId: id })

const onTerminal = (
  args: readonly string[],
  { env = {}, answers }: { env?: Record<string, string>; answers?: readonly Answer[] } = {},
) => runOnTerminal(args, { cwd: cli.home, env: { ...cli.env, NO_COLOR: '1', TMPDIR: cli.home, ...env }, answers })

/** An editor that runs a command of shell with the file as $1. */
function editor(script: string): { EDITOR: string } {
  const file = join(cli.home, 'editor')
  writeFileSync(file, `#!/bin/sh\nset -e\n${script}\n`, { mode: 0o755 })
  return { EDITOR: file }
}

describe('cards edit --editor', () => {
  test('opens title and prompt in EDITOR, and saves the edited text', async () => {
    const id = await newCard('Old title', 'Old prompt\nin two lines')
    const { code, text } = await onTerminal(['cards', 'edit', id, '--editor'], {
      env: editor('cat "$1" > "$HOME/seen"; printf "New title\\n\\nNew prompt\\n\\nwith a gap" > "$1"'),
    })
    expect({ code, text }).toEqual({ code: 0, text: `Edited card ${id}.\n` })
    expect(readFileSync(join(cli.home, 'seen'), 'utf8')).toBe('Old title\n\nOld prompt\nin two lines')
    expect(await card(id)).toMatchObject({ title: 'New title', prompt: 'New prompt\n\nwith a gap' })
  })

  test('changes nothing without an edit, or if the editor fails', async () => {
    const id = await newCard('As it is')
    const { version } = await card(id)
    expect(await onTerminal(['cards', 'edit', id, '--editor'], { env: editor(':') })).toEqual({
      code: 0,
      text: 'Nothing was changed.\n',
    })
    const failed = await onTerminal(['cards', 'edit', id, '--editor'], { env: editor('exit 3') })
    expect(failed).toMatchObject({
      code: 1,
      text: expect.stringMatching(/^board: the editor ended with 3; nothing was changed\nsee: /),
    })
    const typed = await onTerminal(['cards', 'edit', id, '--editor'], { env: editor('echo more >> "$1"; exit 3') })
    const [, kept] = /; nothing was changed \(your text is saved in ([^)\s]+)\)\n/.exec(typed.text) ?? []
    expect(readFileSync(kept!, 'utf8')).toBe('As it is\n\nmore\n')
    expect((await card(id)).version).toBe(version)
  })

  test('keeps the text in a file if another user has changed the card in that time, or it has no title', async () => {
    const id = await newCard('Mine')
    const change = `curl -fsS -X PATCH -H "Authorization: Bearer $BOARD_TOKEN" -H 'content-type: application/json' -d '{"title":"Theirs"}' "$BOARD_URL/api/projects/${projectId}/cards/${id}" > /dev/null`
    const { code, text } = await onTerminal(['cards', 'edit', id, '--editor'], {
      env: editor(`${change}; echo "Mine, better" > "$1"`),
    })
    const [, kept] = /your text is saved in ([^)\s]+)\)/.exec(text) ?? []
    expect({ code, kept: readFileSync(kept!, 'utf8'), title: (await card(id)).title }).toEqual({
      code: 5,
      kept: 'Mine, better\n',
      title: 'Theirs',
    })
    expect(await onTerminal(['cards', 'edit', id, '--editor'], { env: editor(': > "$1"') })).toMatchObject({
      code: 2,
      text: expect.stringContaining('the first line must be the title (your text is saved in'),
    })
  })
})

describe('a signal while the editor is open', () => {
  test('ends the editor, names the text, and restores the modes of the terminal', async () => {
    const id = await newCard('Cut short')
    const { code, text } = await onTerminal(['cards', 'edit', id, '--editor'], {
      env: editor('stty raw -echo; echo more >> "$1"; kill -TERM $(ps -o ppid= -p $PPID); sleep 60'),
    })
    const [, kept] = /board: your text is saved in (\S+)/.exec(text) ?? []
    expect({ code, kept: readFileSync(kept!, 'utf8'), prompt: (await card(id)).prompt }).toEqual({
      code: 143,
      kept: 'Cut short\n\nmore\n',
      prompt: '',
    })
  })
})

describe('before it deletes', () => {
  test('it asks, and any answer except yes changes nothing', async () => {
    const id = await newCard('Doomed')
    const question = `Delete card ${id}? [y/N]: `
    expect(await onTerminal(['cards', 'delete', id], { answers: [[question, '\r']] })).toMatchObject({
      code: 1,
      text: expect.stringContaining('board: nothing was changed'),
    })
    expect(await onTerminal(['cards', 'delete', id], { answers: [[question, '\u0003']] })).toMatchObject({ code: 130 })
    expect((await card(id)).title).toBe('Doomed')
    expect(await onTerminal(['cards', 'delete', id], { answers: [[question, 'y\r']] })).toMatchObject({ code: 0 })
    await expect(card(id)).rejects.toMatchObject({ status: 404 })
  })

  test('it requires the typed name of a project', async () => {
    const { id } = await board.client.projects.create({ name: 'doomed', path: board.folder('doomed') })
    const question = 'Type "doomed" to confirm: '
    expect(await onTerminal(['projects', 'delete', 'doomed'], { answers: [[question, 'y\r']] })).toMatchObject({
      code: 1,
      text: expect.stringContaining('that is not the name'),
    })
    expect(await onTerminal(['projects', 'delete', 'doomed'], { answers: [[question, 'doomed\r']] })).toMatchObject({
      code: 0,
    })
    expect((await board.client.projects.list()).some(project => project.id === id)).toBe(false)
  })

  test('it does not ask with --no-input, not even on a terminal', async () => {
    const id = await newCard('Kept')
    expect(await onTerminal(['cards', 'delete', id, '--no-input'])).toMatchObject({
      code: 2,
      text: expect.stringContaining('--yes'),
    })
    expect((await card(id)).title).toBe('Kept')
  })
})

describe('for a new password', () => {
  const register = ['auth', 'register', '--email', 'new@example.com']
  const [first, second] = ['Password (at least 8 characters): ', 'Repeat the password: ']

  test('it rejects a short one, asks twice, and hides the input', async () => {
    const short = await onTerminal(register, { answers: [[first, 'short\r']] })
    expect({ ...short, again: short.text.includes(second) }).toMatchObject({
      code: 2,
      text: expect.stringContaining('the password is too short'),
      again: false,
    })
    expect(
      await onTerminal(register, {
        answers: [
          [first, 'long enough\r'],
          [second, 'long enougj\r'],
        ],
      }),
    ).toMatchObject({ code: 2, text: expect.stringContaining('the two passwords differ') })
    const { code, text } = await onTerminal(register, {
      answers: [
        [first, 'long enough\r'],
        [second, 'long enough\r'],
      ],
    })
    expect({ code, text }).toEqual({
      code: 4,
      text: `${first}\n${second}\nboard: create the first user with board auth setup\nsee: board auth --help\n`,
    })
  })
})

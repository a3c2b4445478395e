import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { eventually } from '../support/waiting/eventually.ts'
import { open, terminal, useEmptyBoard, world } from './emptyBoard.ts'
import { boardIn } from '../support/terminals/terminal.ts'

useEmptyBoard()

const configure = async (commands: unknown) => {
  const path = (await world.cli.ok(['config', 'path'])).trim()
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, JSON.stringify({ commands }))
}

describe("the user's own commands", () => {
  test('run in the terminal with the card in their environment, and the board returns afterwards', async () => {
    const out = join(world.cli.home, 'told')
    await configure([
      {
        key: 'ctrl+t',
        name: 'Tell',
        run: `echo "IN THE TERMINAL"; printf '%s|%s|%s|%s|%s' "$BOARD_CARD_ID" "$BOARD_CARD_IDS" "$BOARD_CARD_TITLE" "$BOARD_CARD_COLUMN" "$BOARD_PROJECT_NAME" > ${out}; exit 3`,
      },
    ])
    const ids = [await world.card('$(touch pwned) "One"'), await world.card('Two')]
    await open()
    terminal.press('?', 'your command')
    await terminal.shows(/ctrl\+t +Tell \(your command\)/)
    terminal.press('escape')
    await terminal.lacks('your command')
    terminal.press('V')
    await terminal.shows('2 selected')
    terminal.process.write('\u0014')
    await terminal.shows('It ended with 3. Press Enter to return to the board.')
    expect(terminal.isAlternate).toBe(false)
    terminal.process.write('\r')
    await terminal.shows('Tell ended with 3.')
    expect(terminal.isAlternate).toBe(true)
    expect(readFileSync(out, 'utf8')).toBe(`${ids[0]}|${ids.join(' ')}|$(touch pwned) "One"|Backlog|web`)
  })

  test('run in the background and show their first line, and override keys of the settings', async () => {
    await configure([{ key: 'j', name: 'Say', run: 'echo "card $BOARD_CARD_ID"; echo more', background: true }])
    const id = await world.card('One')
    await world.card('Two')
    await open()
    terminal.press('j')
    await terminal.shows(`Say: card ${id}`)
    await terminal.shows('▌ One')
    terminal.press('down')
    await terminal.shows('▌ Two')
    terminal.press(':', 'say', 'enter')
    await terminal.shows(`Say: card ${Number(id) + 1}`)
  })

  test('that are invalid exit the board before it draws, naming the entry', async () => {
    for (const [commands, message] of [
      [[{ key: 'x' }], 'commands[0] needs a key and a command to run'],
      ['x', 'commands must be a list'],
    ] as const) {
      await configure(commands)
      const refused = boardIn(['ui'], { cwd: world.cli.home, env: { ...world.cli.env, TERM: 'xterm-256color' } })
      expect((await refused.end()).code).toBe(2)
      expect(refused.text()).toContain(message)
      refused.close()
    }
    await configure([])
  })

  test('are never read from the server', async () => {
    const refused = await world.server.request('PUT', '/api/user/settings', {
      token: world.server.token,
      body: { commands: [{ key: 'j', run: 'true' }] },
    })
    expect(refused.status).toBe(400)
    await eventually(
      'settings without commands',
      async () => !('commands' in (await world.server.client.settings.getUser())),
    )
  })
})

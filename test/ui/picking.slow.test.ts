import { describe, expect, test } from 'vitest'
import { writeOffers } from '../../src/store/agents/agentOffers.ts'
import { eventually } from '../support/waiting/eventually.ts'
import { line, open, terminal, useEmptyBoard, world } from './emptyBoard.ts'
import { fakeBrowser } from '../support/browsers/fakeBrowser.ts'
import { boardIn } from '../support/terminals/terminal.ts'

useEmptyBoard()

const card = (cardId: string) => world.server.client.cards.get({ projectId: world.projectId, cardId })

describe('actions on cards', () => {
  test('c moves cards to a column by its name, from the board and from an opened card', async () => {
    for (const title of ['One', 'Two']) await world.card(title)
    await open()
    terminal.press('c', 'don', 'enter')
    await eventually('the move', async () => String(await world.titles(world.columns.done)) === 'One')
    await terminal.shows('▌ One')
    terminal.press('h', 'h', 'enter')
    await terminal.shows('[Prompt]')
    terminal.press('c')
    await terminal.shows(/Send card \d+ to/)
    expect(terminal.text()).not.toMatch(/Backlog +0 cards/)
    terminal.press('done', 'enter')
    await eventually('the move', async () => String(await world.titles(world.columns.done)) === 'Two,One')
  })

  test('t adds and removes labels on all selected cards, and can create a new one', async () => {
    const ids = [await world.card('One', { labels: ['old', 'kept'] }), await world.card('Two', { labels: ['kept'] })]
    await open()
    terminal.press('V', 't')
    await terminal.shows('Labels of 2 cards')
    await terminal.shows(/\[x\] kept/)
    await terminal.shows(/\[-\] old/)
    terminal.press('old', 'tab')
    await terminal.shows(/\[x\] old/)
    terminal.press('brand new')
    await terminal.shows(/\[ \] brand new +new/)
    terminal.press('tab', 'enter')
    await eventually('the labels', async () => (await card(ids[1]!)).labels.includes('brand new'))
    for (const id of ids)
      await eventually('all labels', async () => String((await card(id)).labels.toSorted()) === 'brand new,kept,old')
    terminal.press('t', 'kept', 'enter')
    await eventually('one label less', async () => String((await card(ids[0]!)).labels.toSorted()) === 'brand new,old')
  })

  test('w selects the agent, and shows the installation command of a missing one', async () => {
    const id = await world.card('One')
    await open()
    terminal.press('w')
    await terminal.shows(`Agent of card ${id}`)
    await terminal.shows(/claude .*not installed/)
    terminal.press('clau', 'enter')
    await terminal.shows('claude is not installed. Get it with: ')
    await world.server.client.cards.update({ projectId: world.projectId, cardId: id, agent: 'claude' })
    terminal.press('w', 'project', 'enter')
    await terminal.shows(`Card ${id} now uses the project's agent.`)
    expect((await card(id)).agent).toBeNull()
  })

  test('w offers profiles after agents, and then the models of the selected agent', async () => {
    const { app } = world.server.server
    const models = JSON.stringify([
      { id: 'opus', name: 'opus' },
      { id: 'haiku', name: 'haiku' },
    ])
    await app.db.transaction(tx => writeOffers(tx, { host: tx.host ?? '', agent: 'claude', profile: '', models }))
    await world.server.client.agentProfiles.create({ name: 'nightly', agent: 'claude' })
    const id = await world.card('One')
    await world.server.client.cards.update({ projectId: world.projectId, cardId: id, effort: 'high' })
    await open()
    terminal.press('w')
    await terminal.shows(/nightly .*profile of claude/)
    terminal.press('nightly', 'enter')
    await terminal.shows(`Model of nightly for card ${id}`)
    await terminal.shows(/opus[^]*haiku/)
    terminal.press('hai', 'enter')
    await terminal.shows(`Card ${id} now uses the agent claude, profile nightly, model haiku.`)
    const chosen = { agent: 'claude', profile: 'nightly', model: 'haiku', mode: null, effort: null }
    expect(await card(id)).toMatchObject(chosen)
  })

  test("M asks for confirmation, and shows the server's result of the merge", async () => {
    const id = await world.card('One')
    await open()
    terminal.press('M')
    await terminal.shows(`Merge the branch of card ${id}`)
    terminal.press('n')
    await terminal.lacks('Merge the branch')
    terminal.press('M')
    await terminal.shows(`Merge the branch of card ${id}`)
    terminal.press('y')
    await terminal.shows(/no branch|no worktree|not a Git|nothing|has not/i)
  })

  test("y copies id, title or branch to the terminal's clipboard, and shows the next keys", async () => {
    const id = await world.card('Grüße; \u001b]52')
    await open()
    terminal.press('y')
    await terminal.shows("t copy the card's title")
    terminal.press('t')
    await terminal.shows('Copied Grüße')
    const copied = () =>
      [...terminal.written.matchAll(/\u001b\]52;c;([\w+/=]*)\u0007/g)].map(([, text]) =>
        Buffer.from(text!, 'base64').toString(),
      )
    expect(copied()).toEqual(['Grüße; \u001b]52'])
    terminal.press('y', 'y')
    await terminal.shows(`Copied ${id}`)
    expect(copied().at(-1)).toBe(id)
    terminal.press('y', 'b')
    await terminal.shows(`Card ${id} has no branch yet.`)
  })

  test('o shows the card in the browser, like cards view --web', async () => {
    const id = await world.card('In the browser')
    await open({ env: { BROWSER: fakeBrowser(world.cli.home).command } })
    terminal.press('o')
    await terminal.shows(`Opened card ${id} in your browser.`)
    terminal.close()
    await open({ env: { BROWSER: '' } })
    terminal.press('o')
    await terminal.shows('No browser was found. Set the variable BROWSER.')
  })
})

describe('projects', () => {
  test('P and : switch to another project and to its cards, and live changes follow', async () => {
    const { client } = world.server
    const other = await client.projects.create({ name: 'Elsewhere', path: world.cli.home })
    await world.card('Here')
    const there = await client.cards.create({ projectId: other.id, title: 'Unusual words', deferred: true })
    await open()
    terminal.press('P')
    await terminal.shows(/web +this one/)
    terminal.press('else', 'enter')
    await terminal.shows('Elsewhere · Board')
    await terminal.shows('▌ Unusual words')
    await client.cards.create({ projectId: other.id, title: 'Created later', deferred: true })
    await terminal.shows('Created later')
    await world.card('Not shown here')
    terminal.press('n', 'Made there', 'enter', 'enter')
    await terminal.shows('Made there')
    expect(terminal.text()).not.toContain('Not shown here')
    terminal.press(':', 'web', 'enter')
    await terminal.shows('web · Board')
    await terminal.shows('Not shown here')
    terminal.press(':', 'unusual')
    await terminal.shows(new RegExp(`#${there.id} Unusual words +Elsewhere, Backlog`))
    terminal.press('enter')
    await terminal.shows('Elsewhere · Board')
    await terminal.shows('▌ Unusual words')
    terminal.close()
    await client.projects.delete({ id: other.id })
  })

  test('without a selected project the user is asked for one first, and escape exits', async () => {
    await world.card('Here')
    const env = { ...world.cli.env, BOARD_PROJECT: '', TERM: 'xterm-256color' }
    const picking = boardIn(['ui'], { cwd: '/', env })
    await picking.shows('Projects')
    await picking.shows(/web +project/)
    picking.press('web', 'enter')
    await picking.shows('▌ Here')
    picking.close()
    const leaving = boardIn(['ui'], { cwd: '/', env })
    await leaving.shows(/web +project/)
    leaving.press('escape')
    expect((await leaving.end()).code).toBe(0)
  })

  test(': runs a command by name', async () => {
    await world.card('One')
    await open()
    terminal.press(':', 'arch')
    await terminal.shows(/archive: archive the card +A/)
    terminal.press('enter')
    await terminal.shows(/Archived card \d+\./)
    await eventually('the archiving', () => line('One') === '')
  })
})

import { afterEach, describe, expect, test } from 'vitest'
import { startFolderBoard, type AgentBoard } from '../support/agents/agentBoard.ts'
import { noBrowser, visitors } from '../support/browsers/browser.ts'
import { eventually } from '../support/waiting/eventually.ts'

const serving = `echo "<b>hello</b>"; node -e "require('http').createServer((q,r)=>r.end('what the card looks like')).listen(+process.env.BOARD_PORT,'127.0.0.1')"`

describe.skipIf(noBrowser !== undefined)('the preview of a card', () => {
  const visit = visitors()
  let board: AgentBoard
  afterEach(() => board.close())
  const open = async (preview: string) => {
    board = await startFolderBoard({})
    await board.client.projects.update({ id: board.projectId, worktree: { preview } })
    const card = { projectId: board.projectId, title: 'Look', columnId: board.columns.backlog }
    const { id: cardId } = await board.client.cards.create(card)
    return { projectId: board.projectId, cardId, at: `#/projects/${board.projectId}/cards/${cardId}` }
  }

  test('is started, opened in a tab of its own, and ends when one leaves the card', async () => {
    const { at, ...place } = await open(serving)
    const { page, axeViolations } = await visit(board, { at })
    await page.getByRole('heading', { name: 'Preview' }).waitFor()
    await page.getByRole('button', { name: 'Start the preview' }).click()
    const link = page.getByRole('link', { name: /^http:\/\/127\.0\.0\.1:\d+$/ })
    await link.waitFor()
    await page.getByRole('region', { name: 'Output of the preview' }).getByText('<b>hello</b>').waitFor()
    expect(await axeViolations()).toEqual([])
    expect(await link.getAttribute('rel')).toBe('noopener noreferrer')
    const [tab] = await Promise.all([page.context().waitForEvent('page'), link.click()])
    await tab.getByText('what the card looks like').waitFor()
    expect(await tab.evaluate('window.opener')).toBe(null)
    await tab.close()
    await page.getByRole('tab', { name: 'Transcript' }).click()
    await eventually('its end', async () => (await board.client.previews.get(place)).status === 'off')
  })

  test('is followed by whoever looks, and one that somebody else has started goes on', async () => {
    const { at, ...place } = await open(serving)
    await board.client.previews.start(place)
    const { page } = await visit(board, { at })
    await page.getByRole('button', { name: 'Stop the preview' }).waitFor()
    await page.getByRole('tab', { name: 'Transcript' }).click()
    await page.getByRole('tab', { name: 'Card', exact: true }).click()
    await page.getByRole('link', { name: /^http:/ }).waitFor()
    expect((await board.client.previews.get(place)).status).toBe('running')
    await board.client.previews.stop(place)
    await page.getByRole('button', { name: 'Start the preview' }).waitFor()
  })

  test('tells why it failed, and is not there where nothing is to be served', async () => {
    const { at } = await open('echo "no such script"; exit 4')
    const { page } = await visit(board, { at })
    await page.getByRole('button', { name: 'Start the preview' }).click()
    await page.getByText('The preview command ended with exit code 4.').waitFor()
    await page.getByText('no such script').waitFor()
    await board.client.projects.update({ id: board.projectId, worktree: { preview: null } })
    const { page: other, settled } = await visit(board, { at })
    await settled()
    expect(await other.getByRole('heading', { name: 'Preview' }).count()).toBe(0)
  })
})

import { afterEach, describe, expect, test } from 'vitest'
import { startFolderBoard, type AgentBoard } from '../support/agents/agentBoard.ts'
import { noBrowser, visitors } from '../support/browsers/browser.ts'
import { eventually } from '../support/waiting/eventually.ts'

/** A page that adds its script's text and the first word of its WebSocket to the heading. */
const program = `
const page = '<h1>what the card looks like</h1><script src="/script.js"></script>'
const script = 'document.body.append("script ");new WebSocket("ws://"+location.host).onmessage=e=>document.body.append(e.data)'
require('http').createServer((q, r) => {
  r.setHeader('content-type', q.url === '/' ? 'text/html' : 'text/javascript')
  r.end(q.url === '/' ? page : script)
}).on('upgrade', (q, s) => {
  const accept = require('crypto').createHash('sha1').update(q.headers['sec-websocket-key'] + '258EAFA5-E914-47DA-95CA-C5AB0DC85B11').digest('base64')
  s.write(['HTTP/1.1 101 Switching Protocols', 'Connection: Upgrade', 'Upgrade: websocket', 'Sec-WebSocket-Accept: ' + accept, '', ''].join('\\r\\n'))
  s.write(Buffer.from([0x81, 6, ...Buffer.from('socket')]))
}).listen(+process.env.BOARD_PORT, '127.0.0.1')`
const encoded = Buffer.from(program).toString('base64')
const serving = `echo "<b>hello</b>"; node -e "eval(atob('${encoded}'))"`

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

  test('is started, opened in a separate tab, and ends when the user leaves the card', async () => {
    const { at, ...place } = await open(serving)
    const { page, axeViolations } = await visit(board, { at })
    await page.getByRole('heading', { name: 'Preview' }).waitFor()
    await page.getByRole('button', { name: 'Start preview' }).click()
    const button = page.getByRole('button', { name: 'Open preview' })
    await button.waitFor()
    await page.getByRole('region', { name: 'Output of the preview' }).getByText('<b>hello</b>').waitFor()
    expect(await axeViolations()).toEqual([])
    const [tab] = await Promise.all([page.context().waitForEvent('page'), button.click()])
    await tab.getByText('what the card looks like').waitFor()
    await tab.getByText('script socket').waitFor()
    const { url } = await board.client.previews.get(place)
    expect(tab.url()).toBe(`${url}/`)
    expect(await tab.evaluate('[window.opener, document.cookie]')).toEqual([null, ''])
    await tab.reload()
    await tab.getByText('script socket').waitFor()
    const stranger = await (await page.context().browser()!.newContext()).newPage()
    expect((await stranger.goto(url!))!.status()).toBe(403)
    await stranger.context().close()
    await tab.close()
    await page.getByRole('tab', { name: 'Changes' }).click()
    await eventually('its end', async () => (await board.client.previews.get(place)).status === 'off')
  })

  test('shows its output to every viewer, and a preview of another user keeps running', async () => {
    const { at, ...place } = await open(serving)
    await board.client.previews.start(place)
    const { page } = await visit(board, { at })
    await page.getByRole('button', { name: 'Stop preview' }).waitFor()
    await page.getByRole('tab', { name: 'Changes' }).click()
    await page.getByRole('tab', { name: 'Activity' }).click()
    await page.getByRole('button', { name: 'Open preview' }).waitFor()
    expect((await board.client.previews.get(place)).status).toBe('running')
    await board.client.previews.stop(place)
    await page.getByRole('button', { name: 'Start preview' }).waitFor()
  })

  test('shows why it failed, and is not offered if there is nothing to serve', async () => {
    const { at } = await open('echo "no such script"; exit 4')
    const { page } = await visit(board, { at })
    await page.getByRole('button', { name: 'Start preview' }).click()
    await page.getByText('The preview command ended with exit code 4.').waitFor()
    await page.getByText('no such script').waitFor()
    await board.client.projects.update({ id: board.projectId, worktree: { preview: null } })
    const { page: other, settled } = await visit(board, { at })
    await settled()
    expect(await other.getByRole('heading', { name: 'Preview' }).count()).toBe(0)
  })
})

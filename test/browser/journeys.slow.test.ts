import { execFileSync } from 'node:child_process'
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, describe, expect, test } from 'vitest'
import { startAgentBoard, type AgentBoard } from '../support/agents/agentBoard.ts'
import { canBeDragged, noBrowser, visitors } from '../support/browsers/browser.ts'
import { workByKeyboard } from '../support/browsers/workByKeyboard.ts'
import { boardProcess, clearAway } from '../support/processes/boardProcess.ts'
import { freePort, noProxy, proxyIn } from '../support/servers/proxy.ts'

describe.skipIf(noBrowser !== undefined || noProxy !== undefined)('below a path of a proxy with TLS', () => {
  const visit = visitors()

  test('the page loads, signs in and receives the changes of others', async () => {
    const root = mkdtempSync(join(tmpdir(), 'board-web-proxy-'))
    const proxy = await proxyIn(root)
    const board = boardProcess(join(root, 'data'), { HOME: root }, ['--public-url', proxy.url, '--trust-proxy'])
    try {
      await board.start()
      await proxy.start(board.url)
      const login = { email: 'ada@example.org', password: 'correct horse' }
      await board.client.auth.setup(login)
      const { id: projectId } = await board.client.projects.create({ name: 'work', path: root })
      const { page } = await visit(
        { url: proxy.url, token: '' },
        { isStranger: true, at: `#/projects/${projectId}`, ignoreHTTPSErrors: true },
      )
      await page.getByLabel('Email').fill(login.email)
      await page.getByLabel('Password').fill(login.password)
      await page.getByRole('button', { name: 'Sign in' }).click()
      await page.getByRole('heading', { name: 'Backlog' }).waitFor()
      await page.getByText('live', { exact: true }).waitFor()
      await board.client.cards.create({ projectId, title: 'Sent through the proxy' })
      await page.getByText('Sent through the proxy').waitFor()
      await expect.poll(() => page.url()).toBe(`${proxy.url}/#/projects/${projectId}`)
    } finally {
      await proxy.close()
      await clearAway(board, root)
    }
  })
})

describe.skipIf(noBrowser !== undefined)('a server that is killed', () => {
  const visit = visitors()
  let close: (() => Promise<void>) | undefined
  afterEach(async () => close?.())

  test('during a drag and an edit loses neither, and the page catches up automatically', async () => {
    const root = mkdtempSync(join(tmpdir(), 'board-web-killed-'))
    const board = boardProcess(join(root, 'data'), { HOME: root }, ['--port', String(await freePort())])
    close = () => clearAway(board, root)
    await board.start()
    const { id: projectId } = await board.client.projects.create({ name: 'work', path: root })
    const { id } = await board.client.cards.create({ projectId, title: 'Dragged' })
    const { page, settled } = await visit(board, { at: `#/projects/${projectId}` })
    const column = (name: string) => page.getByRole('region', { name })
    await column('Backlog').getByRole('button', { name: 'New card' }).click()
    await settled()
    await canBeDragged(page)
    await page.keyboard.type('Half typ')
    const from = (await page.getByText('Dragged').boundingBox())!
    const to = (await column('Done').boundingBox())!
    await page.mouse.move(from.x + 20, from.y + 5)
    await page.mouse.down()
    await page.mouse.move(from.x + 60, from.y + 30, { steps: 5 })
    await board.end('SIGKILL')
    await page.getByText(/disconnected/).waitFor()
    await page.mouse.move(to.x + 60, to.y + 100, { steps: 10 })
    await page.mouse.up()
    await board.start()
    await page.getByText('live', { exact: true }).waitFor()
    // The drop happened while the server was down, and is sent when it is back.
    await column('Done').getByText('Dragged').waitFor()
    const done = (await board.client.columns.list({ projectId })).find(({ name }) => name === 'Done')!
    await expect.poll(async () => (await board.client.cards.get({ projectId, cardId: id })).columnId).toBe(done.id)
    const typed = page.getByRole('textbox', { name: /card/ })
    await expect.poll(() => typed.inputValue()).toBe('Half typ')
    await typed.press('End')
    await typed.pressSequentially('ed')
    await typed.press('Enter')
    await column('Backlog').getByText('Half typed').waitFor()
    const titles = async () => (await board.client.cards.list({ projectId })).map(({ title }) => title).sort()
    await expect.poll(titles).toEqual(['Dragged', 'Half typed'])
  })
})

describe.skipIf(noBrowser !== undefined)('a user without a mouse', () => {
  const visit = visitors()
  let board: AgentBoard | undefined
  afterEach(async () => board?.close())

  test('signs in, adds a card, starts its agent, reviews the changes and merges them', async () => {
    board = await startAgentBoard({ writer: { fixture: 'well-behaved' } })
    const { client, projectId, path } = board
    const login = { email: 'ada@example.org', password: 'correct horse' }
    await client.auth.setup(login)
    await client.projects.update({ id: projectId, agent: 'writer' })
    const { page } = await visit(board, { isStranger: true, at: `#/projects/${projectId}` })
    await workByKeyboard(page, { login, untilCompleted: id => board!.untilStatus(id, 'completed') })
    expect(
      execFileSync('git', ['-C', path, 'log', '-1', '--name-only', '--format=', 'main', '--', 'hello.txt'], {
        encoding: 'utf8',
      }),
    ).toContain('hello.txt')
  })
})

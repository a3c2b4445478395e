import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { startFolderBoard, type AgentBoard } from '../support/agents/agentBoard.ts'
import { holdRequests, noBrowser, visitors } from '../support/browsers/browser.ts'
import { choose } from '../support/browsers/choose.ts'
import { hasBubblewrap } from '../support/sandbox/bubblewrap.ts'

const asks = 'for host in refused.example.org npm.example.org:8443; do curl -s http://$host/; done; echo done'

describe.skipIf(noBrowser !== undefined || !hasBubblewrap)('the sandbox of a project', () => {
  const visit = visitors()
  let board: AgentBoard
  beforeEach(async () => {
    const monitor = { command: 'touch watched', intervalSecs: 3600, allowUnsandboxed: true }
    const env = { FIXTURE_CALLS: JSON.stringify([['add_monitor', monitor]]) }
    board = await startFolderBoard(
      { asks: { protocol: 'command', command: ['sh', '-c', asks] }, watches: { fixture: 'mcp-user', env } },
      { sandbox: 'auto' },
    )
  })
  afterEach(() => board.close())

  test('is configured by its admin, and a refused host can be allowed where it is reported', async () => {
    const { page } = await visit(board, { at: `#/projects/${board.projectId}/settings/agents` })
    await page.getByText('In the sandbox (bwrap)').waitFor()
    const { bounds } = await board.client.agents.sandbox()
    await page.getByText(bounds.reason ?? 'The kernel enforces the memory and processes of each session').waitFor()
    await choose(page.getByLabel('Network'), 'Listed hosts only')
    await page.getByLabel('Hosts').fill('*')
    await page.getByRole('button', { name: 'Save sandbox' }).click()
    await page.getByText('must be a host').waitFor()
    await page.getByLabel('Hosts').fill('example.com')
    await page.getByLabel('Time per session').fill('60')
    await page.getByRole('button', { name: 'Save sandbox' }).click()
    await page.getByText('Saved the sandbox for future starts').waitFor()
    expect((await board.client.projects.get({ id: board.projectId })).sandbox).toMatchObject({
      network: 'listed',
      hosts: ['example.com'],
      minutes: 60,
      memoryMiB: null,
    })

    const { id } = await board.start('asks')
    await board.untilStatus(id, 'completed')
    const { page: card } = await visit(board, { at: `#/projects/${board.projectId}/cards/${id}` })
    await card.getByText('in a sandbox, network: listed').waitFor()
    // Two concurrent changes: neither is lost.
    const hosts = ['npm.example.org:8443', 'refused.example.org']
    const answer = await holdRequests(card, `**/api/projects/${board.projectId}`)
    const allow = (host: string) =>
      card.getByRole('listitem').filter({ hasText: host }).getByRole('button', { name: 'Allow in this project' })
    for (const host of hosts) await allow(host).click()
    answer()
    for (const host of hosts) await card.getByText(`Allowed ${host}`).waitFor()
    const { sandbox } = await board.client.projects.get({ id: board.projectId })
    expect(sandbox.hosts.toSorted()).toEqual(['example.com', ...hosts])
    // An allowed host is no longer offered, also if a pattern allows it.
    await card.getByText('The sandbox has blocked:').waitFor({ state: 'detached' })
  })

  test('does not offer a host that a pattern of the list allows, and keeps the focus when one is allowed', async () => {
    await board.client.projects.update({ id: board.projectId, sandbox: { network: 'listed' } })
    const { id } = await board.start('asks')
    await board.untilStatus(id, 'completed')
    await board.client.projects.update({ id: board.projectId, sandbox: { hosts: ['*.example.org'] } })
    const { page, settled } = await visit(board, { at: `#/projects/${board.projectId}/cards/${id}` })
    // The pattern is for ports 80 and 443.
    const offered = page.getByRole('button', { name: 'Allow in this project' })
    await expect.poll(() => offered.count()).toBe(1)
    await settled()
    await offered.focus()
    await page.keyboard.press('Enter')
    await offered.waitFor({ state: 'detached' })
    expect(await page.evaluate('document.activeElement.tagName')).toBe('TEXTAREA')
  })

  test('leaves the approval of a monitor to a user, on the home page and on its card, also after the session has ended', async () => {
    const { id } = await board.start('watches', { title: 'Watches' })
    await board.untilStatus(id, 'completed')
    const { page: card } = await visit(board, { at: `#/projects/${board.projectId}/cards/${id}` })
    await card.getByText('touch watched', { exact: true }).first().waitFor()
    await card.getByText('waiting for approval').waitFor()
    const { page, axeViolations } = await visit(board)
    const item = page.getByRole('list', { name: 'Questions' }).getByRole('listitem')
    await item.getByText('Run a command outside the sandbox every 3600 s').waitFor()
    await item.getByText('touch watched').waitFor()
    expect(await axeViolations()).toEqual([])
    await item.getByRole('button', { name: 'Allow', exact: true }).click()
    await item.waitFor({ state: 'detached' })
    await card.getByRole('button', { name: 'Allow', exact: true }).waitFor({ state: 'detached' })
    await expect.poll(() => existsSync(join(board.path, 'watched'))).toBe(true)
  })

  test('lets monitors run without approval if its admin allows that', async () => {
    const { page } = await visit(board, { at: `#/projects/${board.projectId}/settings/agents` })
    await choose(page.getByLabel('Approval of monitors, which run outside the sandbox'), 'Immediately')
    await page.getByRole('button', { name: 'Save sandbox' }).click()
    await page.getByText('Saved the sandbox for future starts').waitFor()
    const { id } = await board.start('watches')
    await board.untilStatus(id, 'completed')
    await expect.poll(() => existsSync(join(board.path, 'watched'))).toBe(true)
    expect((await board.card(id)).monitorQuestions).toBe(0)
  })
})

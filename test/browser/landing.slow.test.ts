import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, test } from 'vitest'
import { startAgentBoard, type AgentBoard } from '../support/agents/agentBoard.ts'
import { noBrowser, visitors } from '../support/browsers/browser.ts'

describe.skipIf(noBrowser !== undefined)('the landing queue', () => {
  const visit = visitors()
  let board: AgentBoard
  afterEach(() => board.close())

  test('takes a card from its changes, shows its place and the queue, and why a card does not land', async () => {
    board = await startAgentBoard({
      worker: { command: ['sh', '-c', 'echo work > work-$BOARD_CARD_ID'], protocol: 'command' },
    })
    const { projectId } = board
    await board.client.projects.update({ id: projectId, gateRounds: 0 })
    await board.client.gates.create({ projectId, name: 'tests', command: 'test ! -e bad || { echo bad >&2; false; }' })
    const { id } = await board.start('worker', { useWorktree: true, title: 'Fix the roof' })
    await board.untilStatus(id, 'completed')
    writeFileSync(join(board.dataDir, 'worktrees', projectId, id, 'bad'), '')
    await board.client.landings.pause({ projectId })
    const { page, axeViolations, settled } = await visit(board, { at: `#/projects/${projectId}/cards/${id}/changes` })
    const add = async () => {
      await page.getByRole('button', { name: 'Other ways to merge' }).click()
      await page.getByRole('menuitem', { name: 'Add to the landing queue' }).click()
    }
    await add()
    const state = page.getByRole('region', { name: 'Landing queue' })
    await state.getByText('Waits to be merged into main.').waitFor()
    await state.getByRole('button', { name: 'Remove from the queue' }).click()
    await state.waitFor({ state: 'detached' })
    await add()
    await state.getByRole('button', { name: 'Landing queue' }).click()
    const queue = page.getByRole('dialog', { name: 'Landing queue' })
    await queue.getByText('The queue is paused.').waitFor()
    await settled()
    expect(await axeViolations()).toEqual([])
    await queue.getByRole('button', { name: 'Resume the queue' }).click()
    await queue.getByText('into main · The gate tests failed: bad').waitFor()
    await page.keyboard.press('Escape')
    await state.getByText('Not merged into main. The gate tests failed: bad').waitFor()
    writeFileSync(join(board.dataDir, 'worktrees', projectId, id, 'bad'), '')
    await board.client.gates.delete({
      projectId,
      gateId: (await board.client.gates.list({ projectId }))[0]!.id,
    })
    await add()
    await page.getByText('Merged into main').first().waitFor()
  })
})

import { mkdirSync, mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { boardProcess, clearAway } from '../support/processes/boardProcess.ts'
import { processesWith } from '../support/processes/processFiles.ts'
import { hideAgents } from '../support/servers/testBoard.ts'
import { eventually } from '../support/waiting/eventually.ts'

const root = mkdtempSync(join(tmpdir(), 'board-preview-orphans-'))
const [dataDir, path] = [join(root, 'data'), join(root, 'project')]
const board = boardProcess(dataDir, { HOME: root })
afterAll(() => clearAway(board, root))

const listening = `node -e "require('http').createServer((q,r)=>r.end('here')).listen(+process.env.BOARD_PORT,'127.0.0.1')"`

test('no process of a preview is left after a kill of its server, and the next server serves it again', async () => {
  mkdirSync(path)
  hideAgents(dataDir)
  await board.start()
  const { id: projectId } = await board.client.projects.create({ name: 'Seen', path })
  await board.client.projects.update({
    id: projectId,
    worktree: { preview: `setsid sh -c 'sleep 300; : ${root}' & ${listening}` },
  })
  const [column] = await board.client.columns.list({ projectId })
  const { id: cardId } = await board.client.cards.create({ projectId, title: 'Look', columnId: column!.id })
  const at = { projectId, cardId }
  const untilRunning = () =>
    eventually('a preview that runs', async () => {
      const preview = await board.client.previews.get(at)
      return preview.status === 'running' ? preview : undefined
    })
  await board.client.previews.start(at)
  const { url } = await untilRunning()
  await board.end('SIGKILL')
  await board.start()
  expect(await board.client.previews.get(at)).toMatchObject({ status: 'off', url: null })
  await eventually('the end of its processes', () => processesWith(`sleep 300; : ${root}`).length === 0)
  await expect(fetch(url!)).rejects.toThrow()
  await board.client.previews.start(at)
  expect((await untilRunning()).url).toBe(url)
  await board.end('SIGTERM')
  await eventually('the end of its processes', () => processesWith(`sleep 300; : ${root}`).length === 0)
  await expect(fetch(url!)).rejects.toThrow()
})

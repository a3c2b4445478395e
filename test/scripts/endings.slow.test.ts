import { afterAll, beforeAll, expect, test } from 'vitest'
import { startBoard, type TestBoard } from '../support/servers/testBoard.ts'
import { eventually, slowdown } from '../support/waiting/eventually.ts'
import { follow } from '../support/receivers/liveSocket.ts'
import { deafGrandchild, newScript, type TestScript } from './scriptBoard.ts'

let board: TestBoard
let projectId: string
beforeAll(async () => {
  board = await startBoard()
  projectId = (await board.client.projects.create({ name: 'Endings', path: board.folder('endings') })).id
})
afterAll(() => board.close())

const withGrandchild = async (script: TestScript) => {
  await script.run()
  await eventually('its processes', () => script.processes().length >= 2)
  return script
}
const noneLeft = (script: TestScript) =>
  eventually('the end of every process', () => script.processes().length === 0, 8000)

test.concurrent('cancelling ends the whole tree, also processes in separate sessions that ignore TERM, before the run is over', async () => {
  const script = await withGrandchild(
    await newScript(board.client, projectId, `trap "" TERM; ${deafGrandchild} while :; do sleep 0.2; done # $TAG`),
  )
  await board.client.scripts.cancel(script.place)
  expect((await script.ended()).status).toBe('cancelled')
  expect(script.processes()).toEqual([])
})

test.concurrent('a script that ends takes its background processes with it', async () => {
  const script = await newScript(board.client, projectId, `${deafGrandchild} sleep 0.3; echo done`)
  await script.run()
  expect(await script.ended()).toMatchObject({ status: 'succeeded', output: 'done\n' })
  expect(script.processes()).toEqual([])
})

test.concurrent('a process that holds the output open does not delay the end', async () => {
  const script = await newScript(board.client, projectId, `(setsid sleep 60 &) ; echo done # $TAG`)
  await script.run()
  expect(await script.ended()).toMatchObject({ status: 'succeeded', output: 'done\n' })
})

test.concurrent('deleting a script ends its run, and sends an event', async () => {
  const live = await follow(board.url, board.token, projectId)
  const script = await withGrandchild(await newScript(board.client, projectId, `${deafGrandchild} sleep 60 # $TAG`))
  await board.client.scripts.delete(script.place)
  expect(
    (await live.message('script.finished', ({ data }) => data.scriptId === script.place.scriptId)).data,
  ).toMatchObject({ status: 'cancelled', error: 'The script was deleted.' })
  await noneLeft(script)
  expect(
    live.messages.filter(({ type, data }) => type === 'script.finished' && data.scriptId === script.place.scriptId),
  ).toHaveLength(1)
  await expect(script.status()).rejects.toMatchObject({ code: 'SCRIPT_NOT_FOUND' })
  live.close()
})

test.concurrent('deleting its project ends a run', async () => {
  const { id } = await board.client.projects.create({ name: 'Brief', path: board.folder('brief') })
  const script = await withGrandchild(await newScript(board.client, id, `${deafGrandchild} sleep 60 # $TAG`))
  await board.client.projects.delete({ id })
  await noneLeft(script)
})

test.concurrent('a server that stops ends its runs as cancelled, with the reason, and leaves no processes', async () => {
  const other = await startBoard()
  const { id } = await other.client.projects.create({ name: 'Stopping', path: other.folder('stopping') })
  const scripts = await Promise.all(
    [1, 2, 3].map(async () =>
      withGrandchild(await newScript(other.client, id, `${deafGrandchild} echo begun; sleep 60 # $TAG`)),
    ),
  )
  const live = await follow(other.url, other.token, id)
  await other.server.app.scripts.stop()
  const finished = await eventually('all ends', () => {
    const told = live.messages.filter(({ type }) => type === 'script.finished')
    return told.length === 3 ? told : undefined
  })
  for (const { data } of finished)
    expect(data).toMatchObject({ status: 'cancelled', error: 'The server was stopped.', output: 'begun\n' })
  for (const script of scripts) expect(script.processes()).toEqual([])
  const began = performance.now()
  await other.close()
  expect(performance.now() - began).toBeLessThan(10_000 * slowdown())
})

import { afterAll, beforeAll, expect, test } from 'vitest'
import { createNotificationConsumer } from '../../daemon/socket/notifications.ts'
import type { Connection } from '../../daemon/socket/connection.ts'
import { startFolderBoard, type AgentBoard } from '../support/agents/agentBoard.ts'
import { eventually } from '../support/waiting/eventually.ts'

let board: AgentBoard
beforeAll(async () => {
  board = await startFolderBoard({ good: { fixture: 'well-behaved' } })
})
afterAll(() => board.close())

/** The seqs that a socket gets for notifications of events 9 and 10 while its feed has advanced to `newest`. */
async function seqsAfter(newest: readonly (number | undefined)[]): Promise<number[]> {
  const sent: string[] = []
  let at = 0
  const connection = {
    ended: false,
    rightsVersion: 1,
    caller: { kind: 'user', userId: 0, role: 'super_admin' },
    drained: async () => {},
    send: (frame: Buffer) => sent.push(frame.toString()),
  } as unknown as Connection
  const consume = createNotificationConsumer(
    board.server.app.db,
    connection,
    { newestSeq: () => newest[at++] },
    () => {},
  )
  const data = JSON.stringify({ userId: '0', projectId: board.projectId })
  for (const seq of [9, 10])
    consume({ seq, type: 'notification', projectId: null, data, at: '2026-11-23T08:30:00.000Z' }, '0')
  await eventually('both', async () => sent.length === 2)
  return sent.map(text => Number(/"seq":(\d+)/.exec(text)![1]))
}

test.each([
  ['follows no project', [undefined, undefined], [9, 10]],
  ['has sent newer events of a project', [50, 51], [50, 51]],
  ['has older events still to send', [3, 12], [3, 12]],
  ['stops following a project', [50, undefined], [50, 50]],
])('the seq of notifications never decreases on a socket that %s', async (_, newest, expected) => {
  expect(await seqsAfter(newest)).toEqual(expected)
})

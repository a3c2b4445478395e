import { expect, test } from 'vitest'
import { startBoard } from '../support/servers/testBoard.ts'
import { eventually } from '../support/waiting/eventually.ts'

test('a flood of failures by unauthenticated clients keeps the rest of the log and adds one entry', async () => {
  const flooded = await startBoard()
  flooded.server.app.logs.log('info', 'Before the flood')
  const flood = async (count: number) => {
    for (let sent = 0; sent < count; sent += 50)
      await Promise.all(
        Array.from({ length: 50 }, () => flooded.request('GET', '/api/auth/me', { token: 'svc_st_nonsense' })),
      )
  }
  await flood(400)
  expect(await flooded.client.logs.list({ search: 'UNAUTHENTICATED', limit: 1000 })).toHaveLength(100)
  await flooded.request('GET', '/api/projects/999')
  expect((await flooded.client.logs.list({ limit: 1 }))[0]!.message).toBe(
    'GET /api/projects/{id} 404 PROJECT_NOT_FOUND',
  )
  const notice = await eventually('the notice', async () => {
    await flood(50)
    return (await flooded.client.logs.list({ level: 'warn', search: 'anonymous' }))[0]
  })
  expect(notice.fields.count).toBeGreaterThan(300)
  await flooded.close()
})

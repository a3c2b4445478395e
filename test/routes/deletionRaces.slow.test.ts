import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Database } from '../../src/store/engine/database.ts'
import { exampleOf, requestOf, rows, type Row } from '../support/contract/examples.ts'
import { onLibsqlServer, type Reply, type TestBoard } from '../support/servers/testBoard.ts'
import { seed, startSlotlessBoard, type Seed } from '../support/contract/seed.ts'

let board: TestBoard
beforeAll(async () => {
  board = await startSlotlessBoard()
  await board.as().auth.setup({ email: 'root@example.org', password: 'root password' })
})
afterAll(() => board.close())

/** Sends a request, and deletes an object after the request has checked it and before it writes or reads the rest. */
async function outrun(remove: () => Promise<unknown>, send: () => Promise<Reply>): Promise<Reply> {
  const { db } = board.server.app
  const { transaction, snapshot } = db
  let isArmed = true
  const first =
    <A extends unknown[], R>(work: (...args: A) => Promise<R>) =>
    async (...args: A): Promise<R> => {
      if (isArmed) {
        isArmed = false
        await remove()
      }
      return work(...args)
    }
  Object.assign(db, { transaction: first(transaction), snapshot: first(snapshot) } as Partial<Database>)
  try {
    return await send()
  } finally {
    Object.assign(db, { transaction, snapshot })
  }
}

const sendRow = (row: Row, place: Seed) => {
  const { path, options } = requestOf(row.route, exampleOf(row, place))
  return board.request(row.route.method, path, {
    ...options,
    token: row.route.who.kind === 'key' ? place.apiKey : board.token,
  })
}

const creating = rows.filter(
  ({ route }) => route.method === 'POST' && (route.who.kind === 'member' || route.who.kind === 'key'),
)

describe.each([
  ...creating,
  ...rows.filter(({ name }) => name === 'projects.opened' || name === 'transfers.exportProject'),
])('$name', row => {
  it('returns 404 or the record while its project is deleted', async () => {
    const place = await seed(board)
    const reply = await outrun(
      () => board.client.projects.delete({ id: place.projectId }),
      () => sendRow(row, place),
    )
    expect([row.name, reply.status < 500, reply.text.slice(0, 200)]).toEqual([row.name, true, expect.any(String)])
  })
})

it.each(rows.filter(({ route }) => route.method !== 'GET' && route.path.includes('{cardId}')))(
  '$name returns no 5xx while its card is deleted',
  async row => {
    const { projectId, cardId, ...place } = await seed(board)
    const reply = await outrun(
      () => board.client.cards.delete({ projectId, cardId, force: true }),
      () => sendRow(row, { projectId, cardId, ...place }),
    )
    expect([row.name, reply.status < 500, reply.text.slice(0, 200)]).toEqual([row.name, true, expect.any(String)])
  },
)

it.each(rows.filter(({ route }) => route.who.kind === 'organization' && route.method !== 'GET'))(
  '$name returns no 5xx while its organization is deleted',
  async row => {
    const { organizationId, ...place } = await seed(board)
    const reply = await outrun(
      () => board.client.organizations.delete({ id: organizationId }),
      () => sendRow(row, { organizationId, ...place }),
    )
    expect([row.name, reply.status < 500, reply.text.slice(0, 200)]).toEqual([row.name, true, expect.any(String)])
  },
)

it.each(['boards', 'scripts', 'webhooks'])(
  '%s that are created while their project is deleted get the error for the deleted project',
  async what => {
    const body = {
      boards: { name: 'B' },
      scripts: { name: 'S', command: 'true' },
      webhooks: { url: 'http://127.0.0.1:9/', events: ['card.moved'] },
    }[what]
    const attempt = async () => {
      const { id } = await board.client.projects.create({ name: 'Goes', path: board.folder('goes') })
      return outrun(
        () => board.client.projects.delete({ id }),
        () => board.request('POST', `/api/projects/${id}/${what}`, { body }),
      )
    }
    let reply = await attempt()
    // If a job of the server began the first transaction, that job lost the race, and not the request.
    for (let tries = 1; reply.status === 201 && tries < 5; tries++) reply = await attempt()
    expect([reply.status, reply.body.error?.code]).toEqual([404, 'PROJECT_NOT_FOUND'])
  },
)

it('an export of a project or an organization that is deleted returns 404', async () => {
  const { id } = await board.client.projects.create({ name: 'Goes', path: board.folder('goes') })
  const project = await outrun(
    () => board.client.projects.delete({ id }),
    () => board.request('GET', `/api/projects/${id}/export`),
  )
  expect([project.status, project.body.error.code]).toEqual([404, 'PROJECT_NOT_FOUND'])
  const organization = await board.client.organizations.create({ name: 'Goes' })
  const whole = await outrun(
    () => board.client.organizations.delete({ id: organization.id }),
    () => board.request('POST', '/api/export', { body: { organizationId: organization.id } }),
  )
  expect([whole.status, whole.body.error.code]).toEqual([404, 'ORGANIZATION_NOT_FOUND'])
})

it.skipIf(onLibsqlServer)('a restore of a backup that is deleted returns 404', async () => {
  const { filename } = await board.client.backups.create({})
  const { backups } = board.server.app
  const { runExclusive } = backups
  backups.runExclusive = (async (...args: Parameters<typeof runExclusive>) => {
    backups.runExclusive = runExclusive
    await board.client.backups.delete({ filename })
    return runExclusive(...args)
  }) as typeof runExclusive
  const reply = await board.request('POST', `/api/backups/${filename}/restore`)
  expect([reply.status, reply.body.error?.code]).toEqual([404, 'BACKUP_NOT_FOUND'])
})

it('a record that the body names and another client deletes gets its own error code', async () => {
  const { projectId, cardId, emptyColumnId, templateId, organizationId, credentialId } = await seed(board)
  const cases: Array<[string, () => Promise<unknown>, string, string, Record<string, unknown>]> = [
    [
      'TEMPLATE_NOT_FOUND',
      () => board.client.templates.delete({ id: templateId }),
      'POST',
      `/api/projects/${projectId}/boards`,
      { name: 'B', templateId },
    ],
    [
      'COLUMN_NOT_FOUND',
      () => board.client.columns.delete({ projectId, columnId: emptyColumnId }),
      'PATCH',
      `/api/projects/${projectId}/cards/${cardId}/move`,
      { columnId: emptyColumnId },
    ],
    [
      'CREDENTIAL_NOT_FOUND',
      () => board.client.credentials.delete({ id: credentialId }),
      'PUT',
      `/api/organizations/${organizationId}/default-credential`,
      { credentialId },
    ],
  ]
  for (const [code, remove, method, path, body] of cases) {
    const reply = await outrun(remove, () => board.request(method, path, { body }))
    expect([reply.status, reply.body.error?.code]).toEqual([404, code])
  }
})

import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Client } from '../../src/client/index.ts'
import type { Permission } from '../../src/contract/route.ts'
import { startBoard, type TestBoard } from '../support/servers/testBoard.ts'
import { eventually } from '../support/waiting/eventually.ts'
import { startReceiver, type Receiver } from '../support/receivers/webhookReceiver.ts'
import { registerConfirmed } from '../support/identity/registerConfirmed.ts'

let board: TestBoard
let receiver: Receiver
let isDown = false
let now = Date.now()
let people = 0
let hooks = 0

beforeAll(async () => {
  receiver = await startReceiver((_, response) => response.writeHead(isDown ? 500 : 204).end())
  board = await startBoard({ clock: () => new Date(now), webhookTiming: { timeoutMs: 30_000, retrySecs: [60, 60] } })
  await board.as().auth.setup({ email: 'root@example.org', password: 'root password' })
})
afterAll(async () => {
  await board.close()
  await receiver.close()
})

interface Maker {
  client: Client
  /** The name of the owner in the list. */
  createdBy: { userId: string; displayName: string; keyId: string | null; keyName: string | null }
  end(): Promise<unknown>
}
const permissions: Permission[] = ['webhooks.write', 'webhooks.read', 'cards.read']
const person = async () => {
  const name = `Maker ${++people}`
  const email = `maker${people}@example.org`
  const { token, user } = await registerConfirmed(board, { email, password: 'a long password', displayName: name })
  return { client: board.as(token), id: user.id, email, name }
}
async function member(projectId: string): Promise<Maker & { userId: string }> {
  const { client, id, email, name } = await person()
  await board.client.members.add({ id: projectId, email, role: 'admin' })
  return {
    client,
    userId: id,
    createdBy: { userId: id, displayName: name, keyId: null, keyName: null },
    end: () => board.client.members.remove({ projectId, userId: id }),
  }
}
async function keyOf(owner: Client, projectId: string, more: { expiresInDays?: number } = {}) {
  const { id, key } = await owner.keys.create({ name: 'CI', scope: 'project', projectId, permissions, ...more })
  const me = await owner.auth.me()
  return {
    client: board.as(key),
    keyId: id,
    createdBy: { userId: me.id!, displayName: me.displayName, keyId: id, keyName: 'CI' },
    end: () => owner.keys.revoke({ id }),
  }
}

async function place() {
  const { id: projectId } = await board.client.projects.create({ name: 'Hooked', path: board.folder('hooked') })
  return { projectId, add: (title: string) => board.client.cards.create({ projectId, title }) }
}
async function hook({ client }: Pick<Maker, 'client'>, projectId: string) {
  const path = `/${++hooks}`
  const { id: webhookId } = await client.webhooks.create({
    projectId,
    url: receiver.url + path,
    events: ['card.created'],
  })
  const ref = { projectId, webhookId }
  return {
    ref,
    path,
    titles: () => receiver.at(path).map(({ message }) => message.data.title),
    find: async () => (await board.client.webhooks.list({ projectId })).find(({ id }) => id === webhookId)!,
    latest: async () => (await board.client.webhooks.deliveries(ref)).items[0],
  }
}

const ways: Record<string, [way: (projectId: string) => Promise<Maker>, reason: string]> = {
  'a removed member': [member, 'Maker N, who owns it, can no longer read this project.'],
  'a deleted account': [
    async projectId => {
      const made = await member(projectId)
      return { ...made, end: () => board.client.users.delete({ id: made.userId }) }
    },
    'The account that owns it is deleted.',
  ],
  'an administrator of the server who becomes a user': [
    async () => {
      const { client, id, name } = await person()
      await board.client.users.update({ id, role: 'admin' })
      return {
        client,
        createdBy: { userId: id, displayName: name, keyId: null, keyName: null },
        end: () => board.client.users.update({ id, role: 'user' }),
      }
    },
    'Maker N, who owns it, can no longer read this project.',
  ],
  'a revoked key': [projectId => keyOf(board.client, projectId), 'The API key that owns it was revoked.'],
  'an expired key': [
    async projectId => ({
      ...(await keyOf(board.client, projectId, { expiresInDays: 1 })),
      end: async () => (now += 1.1 * 86_400_000),
    }),
    'The API key "CI" that owns it has expired.',
  ],
  'a key of a removed owner': [
    async projectId => {
      const owner = await member(projectId)
      return { ...(await keyOf(owner.client, projectId)), end: owner.end }
    },
    'The API key "CI" that owns it can no longer read this project.',
  ],
  'a key that lost the permission for its event': [
    async projectId => {
      const made = await keyOf(board.client, projectId)
      return {
        ...made,
        end: () =>
          board.server.app.db.transaction(tx =>
            tx.run('UPDATE api_keys SET permissions = ? WHERE id = ?', ['["webhooks.write"]', made.keyId]),
          ),
      }
    },
    'The API key "CI" that owns it cannot read card.created: it lacks cards.read.',
  ],
}

test.each(Object.entries(ways))(
  'the webhook of %s is disabled at its next event with the reason, and belongs to the user who enables it',
  async (_, [way, reason]) => {
    const { projectId, add } = await place()
    const maker = await way(projectId)
    const { ref, titles, find, latest } = await hook(maker, projectId)
    await add('Before')
    await eventually('the first message', () => titles().length === 1)
    expect(await find()).toMatchObject({ enabled: true, disabledReason: null, createdBy: maker.createdBy })
    await maker.end()
    await add('After')
    const { disabledReason, createdBy } = await eventually('the end of the webhook', async () => {
      const found = await find()
      return found.enabled ? undefined : found
    })
    expect(disabledReason!.replace(/Maker \d+/, 'Maker N')).toBe(`${reason} Enable the webhook again to take it over.`)
    expect([createdBy!.userId, createdBy!.keyId]).toEqual([maker.createdBy.userId, maker.createdBy.keyId])
    expect(await latest()).toMatchObject({
      status: 'failed',
      attempts: 0,
      error: `The webhook was disabled: ${disabledReason}`,
    })
    await add('While it is disabled')
    const taken = await board.client.webhooks.update({ ...ref, enabled: true })
    const me = await board.client.auth.me()
    expect(taken).toMatchObject({
      enabled: true,
      disabledReason: null,
      createdBy: { userId: me.id, displayName: me.displayName, keyId: null, keyName: null },
    })
    await add('Again')
    await eventually('the message after it', () => titles().length === 2)
    expect(titles()).toEqual(['Before', 'Again'])
  },
)

test('a pending retry is cancelled once its owner is deleted', async () => {
  const { projectId, add } = await place()
  const maker = await member(projectId)
  const { titles, find, latest } = await hook(maker, projectId)
  isDown = true
  try {
    await add('Not taken')
    await eventually('the first attempt', async () => (await latest())?.attempts === 1)
  } finally {
    isDown = false
  }
  await maker.end()
  now += 120_000
  await board.server.app.webhooks.sendDue()
  await eventually('the end of the webhook', async () => !(await find()).enabled)
  expect([titles(), (await latest())!.status]).toEqual([['Not taken'], 'failed'])
})

test('a webhook changes its owner before any delivery, and continues if the change does not affect it', async () => {
  const { projectId, add } = await place()
  const maker = await member(projectId)
  const { ref, titles, find } = await hook(maker, projectId)
  await board.client.webhooks.update({ ...ref, description: 'To the chat', enabled: true })
  expect((await find()).createdBy).toEqual(maker.createdBy)
  await maker.end()
  await board.client.webhooks.update({ ...ref, enabled: true })
  expect((await find()).createdBy).toMatchObject({ displayName: (await board.client.auth.me()).displayName })
  await add('Still told')
  await eventually('the message', () => titles().length === 1)
})

test('a key that changes the URL or events of a webhook becomes its owner, and the webhook ends with it', async () => {
  const { projectId, add } = await place()
  for (const change of [{ url: `${receiver.url}/turned` }, { events: ['card.created', 'card.moved'] as never }]) {
    const { ref, find } = await hook(board, projectId)
    const key = await keyOf(board.client, projectId)
    await key.client.webhooks.update({ ...ref, ...change })
    expect((await find()).createdBy).toEqual(key.createdBy)
    await key.end()
    await add('Not for it')
    await eventually('the end of the webhook', async () => !(await find()).enabled)
  }
  expect(receiver.at('/turned')).toEqual([])
})

test('a key cannot enable a webhook with events that it cannot read', async () => {
  const { projectId } = await place()
  const { ref } = await hook(board, projectId)
  await board.client.webhooks.update({ ...ref, events: ['agent.message'], enabled: false })
  const key = await keyOf(board.client, projectId)
  await expect(key.client.webhooks.update({ ...ref, enabled: true })).rejects.toMatchObject({
    code: 'INSUFFICIENT_PERMISSIONS',
  })
})

test("a rotated key's webhooks continue with the new key if there is grace, and end with the old one if there is none", async () => {
  const { projectId, add } = await place()
  for (const graceSecs of [60, 0]) {
    const key = await keyOf(board.client, projectId)
    const { titles, find } = await hook(key, projectId)
    const { id } = await board.client.keys.rotate({ id: key.keyId, graceSecs })
    now += 120_000
    await add('After the rotation')
    if (graceSecs > 0) {
      await eventually('the message', () => titles().length === 1)
      expect(await find()).toMatchObject({ enabled: true, createdBy: { keyId: id } })
    } else {
      await eventually('the end of the webhook', async () => !(await find()).enabled)
      expect(titles()).toEqual([])
    }
  }
})

test('a webhook from before owners were recorded belongs to the project, and continues', async () => {
  const { projectId, add } = await place()
  const maker = await member(projectId)
  const { ref, titles, find } = await hook(maker, projectId)
  await board.server.app.db.transaction(tx =>
    tx.run('UPDATE webhooks SET maker_user_id = NULL WHERE id = ?', [Number(ref.webhookId)]),
  )
  await maker.end()
  await add('As before')
  await eventually('the message', () => titles().length === 1)
  expect(await find()).toMatchObject({ enabled: true, createdBy: null })
})

test("the local operator's webhooks pass to the first user, and continue", async () => {
  const fresh = await startBoard()
  try {
    const { id: projectId } = await fresh.client.projects.create({ name: 'Early', path: fresh.folder('early') })
    const url = `${receiver.url}/early`
    await fresh.client.webhooks.create({ projectId, url, events: ['card.created'] })
    await fresh.client.cards.create({ projectId, title: 'By the operator' })
    await eventually('the message', () => receiver.at('/early').length === 1)
    const { token, user } = await fresh.as().auth.setup({ email: 'first@example.org', password: 'a long password' })
    await fresh.as(token).cards.create({ projectId, title: 'By the user' })
    await eventually('the second message', () => receiver.at('/early').length === 2)
    expect(await fresh.as(token).webhooks.list({ projectId })).toMatchObject([
      { enabled: true, createdBy: { userId: user.id, displayName: user.displayName } },
    ])
  } finally {
    await fresh.close()
  }
})

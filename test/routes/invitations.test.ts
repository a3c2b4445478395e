import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Client } from '../../src/client/index.ts'
import { createToken } from '../../src/domain/accounts/token.ts'
import { atOnce } from '../support/servers/atOnce.ts'
import { startBoard, type Reply, type TestBoard } from '../support/servers/testBoard.ts'
import { registerConfirmed } from '../support/identity/registerConfirmed.ts'

interface Person {
  id: string
  email: string
  token: string
  client: Client
}

const dayMs = 86_400_000
const password = 'a long password'
let board: TestBoard
let root: Person
let owner: Person
let aheadMs = 0

beforeAll(async () => {
  board = await startBoard({ clock: () => new Date(Date.now() + aheadMs) })
  root = enter(await board.as().auth.setup({ email: 'root@example.org', password, displayName: 'Root' }))
  owner = await register(addressOf('owner'))
})
afterAll(() => board.close())

const enter = ({ token, user }: { token: string; user: { id: string; email: string } }): Person => ({
  id: user.id,
  email: user.email,
  token,
  client: board.as(token),
})
let made = 0
const addressOf = (name: string) => `${name}.${++made}@example.org`
const register = async (email: string, invitation?: string) =>
  enter(await board.as().auth.register({ email, password, invitation }))
const confirmed = async (email: string) => enter(await registerConfirmed(board, { email, password }))
const newProject = async () => (await owner.client.projects.create({ name: 'P', path: board.folder('p') })).id
const inviteTo = async (id: string, email = addressOf('guest'), role: 'admin' | 'member' | 'viewer' = 'member') => {
  const invited = await owner.client.members.add({ id, email, role })
  if (!invited.pending) throw new Error(`${email} is a member.`)
  return invited
}
const request = (method: string, path: string, { token }: { token: string | null }, body?: unknown): Promise<Reply> =>
  board.request(method, path, { token, body })
const accept = (who: { token: string | null }, token: unknown) =>
  request('POST', '/api/invitations/accept', who, { token })
const codeOf = ({ status, body }: Reply) => [status, body?.error?.code]
const membersOf = async (id: string) =>
  (await owner.client.members.list({ id })).map(({ email, role, pending }) => [email, role, pending])
const seen = async (id: string, { client }: Person) =>
  (await client.projects.list()).filter(project => project.id === id).map(({ role }) => role)
const unknown = [404, 'INVITATION_NOT_FOUND']

describe('an invitation', () => {
  it('returns a link that is shown once and valid for 14 days', async () => {
    const [id, email] = [await newProject(), addressOf('New')]
    const { token, link, createdAt, expiresAt, ...invited } = await inviteTo(id, email, 'viewer')
    expect(invited).toEqual({
      userId: null,
      email,
      displayName: null,
      role: 'viewer',
      pending: true,
      invitedBy: 'owner.1',
    })
    expect(token).toMatch(/^svc_in_[0-9A-Za-z]{33}$/)
    expect(link).toBe(`${board.url}/#invitation=${token}`)
    expect(Date.parse(expiresAt) - Date.parse(createdAt)).toBe(14 * dayMs)
    const listed = await request('GET', `/api/projects/${id}/members`, owner)
    expect(listed.body.data).toEqual([{ ...invited, createdAt, expiresAt }])
    expect(board.stored().includes(token)).toBe(false)
  })

  it('shows its project, inviter, role and address to anyone who has the token', async () => {
    const [id, email] = [await newProject(), addressOf('new')]
    const { token, expiresAt } = await inviteTo(id, email, 'viewer')
    const lookup = (text: string) => request('POST', '/api/invitations/lookup', { token: null }, { token: text })
    const shown = { projectName: 'P', invitedBy: 'owner.1', role: 'viewer', email, expiresAt }
    expect((await lookup(token)).body.data).toEqual(shown)
    expect(codeOf(await lookup(createToken('svc_in_')))).toEqual(unknown)
    const other = await root.client.members.renewInvitation({ projectId: id, email })
    expect((await lookup(other.token)).body.data).toMatchObject({ invitedBy: 'Root' })
    expect(codeOf(await lookup(token))).toEqual(unknown)
    aheadMs += 15 * dayMs
    expect(codeOf(await lookup(other.token))).toEqual([409, 'INVITATION_EXPIRED'])
    aheadMs -= 15 * dayMs
  })

  it('gives no access to an account that registers with its address', async () => {
    const [id, email] = [await newProject(), addressOf('new')]
    await inviteTo(id, email, 'admin')
    const squatter = await register(email.toUpperCase())
    expect(await seen(id, squatter)).toEqual([])
    expect(codeOf(await request('GET', `/api/projects/${id}`, squatter))).toEqual([404, 'PROJECT_NOT_FOUND'])
    expect(await membersOf(id)).toEqual([[email, 'admin', true]])
    // A second invitation does not bypass this.
    expect(codeOf(await request('POST', `/api/projects/${id}/members`, owner, { email }))).toEqual([409, 'CONFLICT'])
    aheadMs += 15 * dayMs
    expect((await request('POST', `/api/projects/${id}/members`, owner, { email })).body.data.pending).toBe(true)
    expect(await seen(id, squatter)).toEqual([])
  })

  it('is what a user receives who is added by an address that another account registered, until its link is accepted', async () => {
    const [id, email] = [await newProject(), addressOf('theirs')]
    const squatter = await register(email)
    const { token } = await inviteTo(id, email.toUpperCase(), 'admin')
    expect([await membersOf(id), await seen(id, squatter)]).toEqual([[[email, 'admin', true]], []])
    expect(codeOf(await request('GET', `/api/projects/${id}`, squatter))).toEqual([404, 'PROJECT_NOT_FOUND'])
    expect(codeOf(await request('PATCH', `/api/projects/${id}/last-opened`, squatter))).toEqual([
      404,
      'PROJECT_NOT_FOUND',
    ])
    expect(codeOf(await request('POST', `/api/projects/${id}/members`, owner, { email }))).toEqual([409, 'CONFLICT'])
    const holder = await register(addressOf('holder'))
    await holder.client.invitations.accept({ token })
    expect([await seen(id, holder), await seen(id, squatter)]).toEqual([['admin'], []])
  })

  it('makes its account a pending member when an administrator confirms the address', async () => {
    const [id, guest] = [await newProject(), await register(addressOf('guest'))]
    await inviteTo(id, guest.email, 'viewer')
    await root.client.users.update({ id: guest.id, addressVerified: true })
    expect([await membersOf(id), await seen(id, guest)]).toEqual([[[guest.email, 'viewer', false]], ['viewer']])
    expect((await guest.client.projects.get({ id })).accepted).toBe(false)
  })

  it('can be accepted once with its link, with the role that it names, and counts as consent', async () => {
    const [id, guest, other] = [await newProject(), await register(addressOf('guest')), await register(addressOf('x'))]
    const { token } = await inviteTo(id, addressOf('else'), 'viewer')
    expect(await guest.client.invitations.accept({ token })).toMatchObject({ id, role: 'viewer', accepted: true })
    expect([await seen(id, guest), await membersOf(id)]).toEqual([['viewer'], [[guest.email, 'viewer', false]]])
    for (const who of [guest, other]) expect(codeOf(await accept(who, token))).toEqual(unknown)
    expect(await seen(id, other)).toEqual([])
  })

  it('is accepted with a registration, and an invalid token creates no account', async () => {
    const [id, email] = [await newProject(), addressOf('new')]
    const { token } = await inviteTo(id, email)
    const guest = await register(addressOf('other'), token)
    expect(await seen(id, guest)).toEqual(['member'])
    for (const invitation of [token, createToken('svc_in_'), createToken('svc_st_'), 'svc_in_nonsense', `${token}x`])
      expect(
        codeOf(await request('POST', '/api/auth/register', { token: null }, { email, password, invitation })),
      ).toEqual(unknown)
    expect((await root.client.users.list({ search: email })).total).toBe(0)
  })

  it('does not allow registration if it is closed', async () => {
    const { token: invitation } = await inviteTo(await newProject())
    await root.client.auth.setSettings({ enabled: true, registrationEnabled: false })
    const reply = await request(
      'POST',
      '/api/auth/register',
      { token: null },
      { email: addressOf('n'), password, invitation },
    )
    await root.client.auth.setSettings({ enabled: true, registrationEnabled: true })
    expect(codeOf(reply)).toEqual([403, 'REGISTRATION_DISABLED'])
  })

  it('creates one member if two accounts accept it at once, or one account accepts it five times', async () => {
    for (let round = 0; round < 3; round++) {
      const id = await newProject()
      const both = [await register(addressOf('a')), await register(addressOf('b'))]
      const { token } = await inviteTo(id)
      const replies = await atOnce(
        board,
        [...both, ...both, both[0]!].map(who => () => accept(who, token)),
      )
      expect(replies.map(({ status }) => status).sort()).toEqual([200, 404, 404, 404, 404])
      expect(await membersOf(id)).toHaveLength(1)
    }
  })

  it('is rejected after 14 days, after it is withdrawn or renewed, and after its project is deleted', async () => {
    const [id, guest] = [await newProject(), await register(addressOf('guest'))]
    const [expired, withdrawn, renewed] = [await inviteTo(id), await inviteTo(id), await inviteTo(id)]
    await owner.client.members.removeInvitation({ projectId: id, email: withdrawn.email.toUpperCase() })
    expect(codeOf(await accept(guest, withdrawn.token))).toEqual(unknown)
    const next = await owner.client.members.renewInvitation({ projectId: id, email: renewed.email })
    expect(next).toMatchObject({ email: renewed.email, role: 'member', pending: true })
    expect(codeOf(await accept(guest, renewed.token))).toEqual(unknown)
    aheadMs += 14 * dayMs
    for (const { token } of [expired, next])
      expect(codeOf(await accept(guest, token))).toEqual([409, 'INVITATION_EXPIRED'])
    const again = await owner.client.members.renewInvitation({ projectId: id, email: renewed.email })
    await owner.client.projects.delete({ id })
    expect(codeOf(await accept(guest, again.token))).toEqual(unknown)
  })

  it('stays open if a member of the project tries to accept it', async () => {
    const id = await newProject()
    const member = await confirmed(addressOf('member'))
    await owner.client.members.add({ id, email: member.email, role: 'viewer' })
    const { token } = await inviteTo(id, undefined, 'admin')
    for (const who of [owner, member]) expect(codeOf(await accept(who, token))).toEqual([409, 'CONFLICT'])
    expect(await seen(id, member)).toEqual(['viewer'])
    expect(await seen(id, await register(addressOf('new'), token))).toEqual(['admin'])
  })

  it('can be accepted only by accounts, and its token has no other use', async () => {
    const id = await newProject()
    const { token } = await inviteTo(id)
    const { key } = await root.client.keys.create({ name: 'k', scope: 'server', permissions: ['projects.read'] })
    expect(codeOf(await accept({ token: key }, token))).toEqual([403, 'INSUFFICIENT_PERMISSIONS'])
    expect(codeOf(await accept({ token: null }, token))).toEqual([401, 'UNAUTHENTICATED'])
    expect(codeOf(await request('GET', '/api/projects', { token }))).toEqual([401, 'UNAUTHENTICATED'])
    for (const wrong of [7, null, '', {}])
      expect(codeOf(await accept(owner, wrong))).toEqual([400, 'VALIDATION_FAILED'])
  })

  it('passes to the account that an administrator creates for its address, which must still accept the project', async () => {
    const [id, email] = [await newProject(), addressOf('new')]
    await inviteTo(id, email)
    const { user, generatedPassword } = await root.client.users.create({ email, name: 'New', role: 'user' })
    const guest = enter(await board.as().auth.login({ email, password: generatedPassword }))
    expect([guest.id, await seen(id, guest)]).toEqual([user.id, ['member']])
    expect((await guest.client.projects.get({ id })).accepted).toBe(false)
  })

  it('is listed once, and can be withdrawn and created again', async () => {
    const [id, email] = [await newProject(), addressOf('new+tag')]
    const invite = () => request('POST', `/api/projects/${id}/members`, owner, { email })
    const on = (method: string, address: string, more = '') =>
      request(method, `/api/projects/${id}/invitations/${encodeURIComponent(address)}${more}`, owner)
    expect((await atOnce(board, [invite, invite, invite])).map(codeOf).sort()).toEqual([
      [201, undefined],
      [409, 'CONFLICT'],
      [409, 'CONFLICT'],
    ])
    expect(codeOf(await on('DELETE', `${email}\0x`))).toEqual(unknown)
    expect((await on('DELETE', email.toUpperCase())).status).toBe(204)
    expect(codeOf(await on('DELETE', email))).toEqual(unknown)
    expect(codeOf(await on('POST', email, '/renew'))).toEqual(unknown)
    expect((await invite()).status).toBe(201)
  })

  it('and a concurrent registration leave a member or an open invitation, never both', async () => {
    for (let round = 0; round < 4; round++) {
      const [id, email] = [await newProject(), addressOf('race')]
      const invite = () => request('POST', `/api/projects/${id}/members`, owner, { email }).then(({ status }) => status)
      const join = () =>
        request('POST', '/api/auth/register', { token: null }, { email, password }).then(({ status }) => status)
      expect(await atOnce(board, round % 2 === 0 ? [invite, join] : [join, invite])).toEqual([201, 201])
      expect((await membersOf(id)).map(([address]) => address)).toEqual([email])
    }
  })

  it('does not make the first user a member of the projects that he or she inherits', async () => {
    const fresh = await startBoard()
    const { id } = await fresh.client.projects.create({ name: 'P', path: fresh.folder('p') })
    await fresh.client.members.add({ id, email: 'ada@example.org', role: 'viewer' })
    const ada = fresh.as((await fresh.as().auth.setup({ email: 'ada@example.org', password: 'correct horse' })).token)
    expect(await ada.members.list({ id })).toEqual([])
    expect(await ada.projects.get({ id })).toMatchObject({ role: 'admin', accepted: true })
    await fresh.close()
  })

  it('validates its input', async () => {
    const id = await newProject()
    for (const body of [
      {},
      { email: 'nobody' },
      { email: 'x@example.org', role: 'owner' },
      { email: 'x@example.org', userId: '1' },
    ])
      expect(codeOf(await request('POST', `/api/projects/${id}/members`, owner, body))).toEqual([
        400,
        'VALIDATION_FAILED',
      ])
  })
})

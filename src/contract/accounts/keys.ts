import * as v from 'valibot'
import { Id, integer, Name, refTo, Time } from '../fields.ts'
import { del, get, permissions, post, serverPermissions, user, type Permission } from '../route.ts'

const KeyScope = v.picklist(['server', 'organization', 'project'], 'must be server, organization or project')
export const Key = v.object({
  id: Id,
  name: Name,
  scope: KeyScope,
  organizationId: v.nullable(Id),
  projectId: v.nullable(Id),
  permissions: v.array(v.picklist(permissions)),
  prefix: v.string(),
  lastFour: v.string(),
  createdAt: Time,
  expiresAt: Time,
  lastUsedAt: v.nullable(Time),
  /** For a connected app, the target of its sign-in: `https://app.example`, `http://localhost`, `com.example.app:`. */
  app: v.nullable(v.string()),
})
/** The only response that ever contains the full key. */
export const NewKey = v.object({ ...Key.entries, key: v.string() })

/** Whether a permission is about the whole server, so that only a super_admin can grant it to a key. */
export const isAboutServer = (permission: Permission): boolean =>
  (serverPermissions as readonly Permission[]).includes(permission)

const CreateKey = v.pipe(
  v.strictObject({
    name: Name,
    scope: KeyScope,
    organizationId: v.optional(refTo('ORGANIZATION_NOT_FOUND')),
    projectId: v.optional(refTo('PROJECT_NOT_FOUND')),
    permissions: v.pipe(
      v.array(v.picklist(permissions, `must be one of ${permissions.join(', ')}`)),
      v.minLength(1, 'must contain at least one permission'),
      v.maxLength(100),
    ),
    expiresAt: v.optional(Time),
    expiresInDays: v.optional(integer(1, 366)),
  }),
  v.forward(
    v.check(body => body.scope !== 'project' || body.projectId !== undefined, 'is required for a key of scope project'),
    ['projectId'],
  ),
  v.forward(
    v.check(
      body => body.scope !== 'organization' || body.organizationId !== undefined,
      'is required for a key of scope organization',
    ),
    ['organizationId'],
  ),
  v.forward(
    v.check(
      body => body.scope === 'server' || !body.permissions.some(isAboutServer),
      `${serverPermissions.join(' and ')} require scope server`,
    ),
    ['permissions'],
  ),
  v.forward(
    v.check(body => body.scope === 'project' || body.projectId === undefined, 'requires scope project'),
    ['projectId'],
  ),
  v.forward(
    v.check(body => body.scope === 'organization' || body.organizationId === undefined, 'requires scope organization'),
    ['organizationId'],
  ),
  v.forward(
    v.check(
      body => body.expiresAt === undefined || body.expiresInDays === undefined,
      'cannot be combined with expiresInDays',
    ),
    ['expiresAt'],
  ),
)
const RotateKey = v.strictObject({ graceSecs: v.optional(integer(0, 7 * 86_400), 0) })

export const keys = {
  list: get('/api/keys', { who: user, summary: "List the caller's API keys", output: v.array(Key) }),
  create: post('/api/keys', {
    fails: ['PROJECT_NOT_FOUND', 'ORGANIZATION_NOT_FOUND'],
    audited: {
      target: 'key',
      id: 'row.id',
      detail: ['scope', 'organizationId', 'permissions', 'expiresAt=row.expiresAt'],
    },
    who: user,
    summary: 'Create an API key',
    details: 'The key is shown once.',
    input: CreateKey,
    output: NewKey,
    idempotent: false,
    status: 201,
  }),
  get: get('/api/keys/{id}', { notFound: { id: 'KEY_NOT_FOUND' }, who: user, summary: 'Get an API key', output: Key }),
  revoke: del('/api/keys/{id}', {
    notFound: { id: 'KEY_NOT_FOUND' },
    audited: { target: 'key' },
    who: user,
    summary: 'Revoke an API key',
  }),
  rotate: post('/api/keys/{id}/rotate', {
    notFound: { id: 'KEY_NOT_FOUND' },
    audited: { target: 'key', detail: ['graceSecs', 'newKeyId=row.id'] },
    who: user,
    summary: 'Rotate an API key',
    details: 'The previous key stays valid for graceSecs seconds.',
    input: RotateKey,
    output: NewKey,
    idempotent: false,
    status: 201,
  }),
}

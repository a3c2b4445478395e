import type { GenericSchema, InferInput, InferOutput } from 'valibot'
import type { ErrorCode, NotFoundCode } from './errors.ts'
import type { Tool } from './agents/tool.ts'

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'

/** The permissions of an API key. The first six are from the specification ("Authentication"). */
export const externalPermissions = [
  'cards.read',
  'cards.create',
  'pipelines.trigger',
  'cards.move',
  'agents.cancel',
  'agents.archive',
] as const
/** Permissions for project-scoped client routes, one group per resource. */
const clientPermissions = [
  'projects.read',
  'boards.read',
  'boards.write',
  'gates.write',
  'cards.update',
  'cards.delete',
  'comments.write',
  'agents.run',
  'agents.read',
  'scripts.read',
  'scripts.write',
  'scripts.run',
  'schedules.write',
  'webhooks.read',
  'webhooks.write',
  'monitors.read',
  'exports.read',
] as const
/** Permissions about the whole server, for keys of server scope that belong to a super_admin. */
export const serverPermissions = ['backups.create', 'backups.read'] as const
/** The permissions that a key of any scope can have. */
export const projectPermissions = [...externalPermissions, ...clientPermissions] as const
export const permissions = [...projectPermissions, ...serverPermissions] as const
export type Permission = (typeof permissions)[number]

export type ProjectRole = 'viewer' | 'member' | 'admin'

/** The input field that identifies the project whose access rules apply. */
export type Through = 'projectId' | 'id' | 'flatCard' | 'attachmentId'

/** The callers that a route allows. One place enforces this for every row, never a handler. */
export type Who =
  | { kind: 'public' | 'admin' | 'local' }
  | { kind: 'user' | 'super'; permission?: Permission }
  | { kind: 'member'; role: ProjectRole; permission?: Permission; through: Through }
  | { kind: 'organization'; role: 'member' | 'admin'; through: 'id' | 'orgId' }
  | { kind: 'key'; permissions: readonly Permission[] }
  | { kind: 'agent'; through: 'cardId' }
  | { kind: 'token' }

export const anyone: Who = { kind: 'public' }
export const user: Who = { kind: 'user' }
/** Any signed-in user, or an API key with the permission. The response is limited to the key's scope. */
export const userOr = (permission: Permission): Who => ({ kind: 'user', permission })
export const admin: Who = { kind: 'admin' }
export const superAdmin: Who = { kind: 'super' }
/** A super_admin, or a key of a super_admin with server scope and the permission. */
export const superAdminOr = (permission: Permission): Who => ({ kind: 'super', permission })
/** The account that runs the server, on its machine, and super_admins. */
export const localOrSuper: Who = { kind: 'local' }

/** All who can see the project. */
export const viewer = (permission?: Permission, through: Through = 'projectId'): Who => ({
  kind: 'member',
  role: 'viewer',
  permission,
  through,
})
/** Everyone who can work in the project. */
export const member = (permission?: Permission, through: Through = 'projectId'): Who => ({
  kind: 'member',
  role: 'member',
  permission,
  through,
})
/** All who can manage the project: its owner, its admins, its organization's admins. */
export const manager = (permission?: Permission, through: Through = 'projectId'): Who => ({
  kind: 'member',
  role: 'admin',
  permission,
  through,
})
/** The members of the organization that the path's parameter names, and server administrators. */
export const organizationMember = (through: 'id' | 'orgId'): Who => ({ kind: 'organization', role: 'member', through })
/** The admins of the organization, and server administrators. */
export const organizationAdmin = (through: 'id' | 'orgId'): Who => ({ kind: 'organization', role: 'admin', through })
/** An API key with one of these permissions, on the external routes. */
export const key = (...allowed: Permission[]): Who => ({ kind: 'key', permissions: allowed })

/** Only an agent token of the card that the path's parameter names. */
export const agentOf = (through: 'cardId'): Who => ({ kind: 'agent', through })
/** Any token: a sign-in, a key with any permissions, an agent's, the local one. */
export const anyToken: Who = { kind: 'token' }

/** The permissions of which an API key needs one. Empty for a route that is not open to keys. */
export function keyPermissionsOf(who: Who): readonly Permission[] {
  if (who.kind === 'key') return who.permissions
  return 'permission' in who && who.permission ? [who.permission] : []
}

/** The audit entry of a successful call. The named fields must not contain secrets or users' texts. */
export interface Audited {
  /** The kind of the target. */
  target: string
  /**
   * The field with the ID of the target, in the input or in the created record. By default, the path's last parameter, or `id`.
   */
  id?: string
  /** The target's name, if it is constant. */
  named?: string
  /** Fields of the input or of the created record with details; `role=user.role` renames a field. */
  detail?: readonly string[]
  /** 'starts': only a call that starts an agent or a card's command is audited. */
  only?: 'starts'
}

type Status = 200 | 201 | 202 | 204

/** The limits that a row can name, in addition to the limit on concurrently read bodies. */
export const rateLimits = {
  apiKey: 'A maximum number of requests per minute and API key. The RateLimit headers show the remaining number.',
  signIn: '10 failures per minute for each IP address and each email address.',
  pendingSignIns: 'A maximum number of concurrent sign-ins with the identity provider.',
  transfers: 'A maximum number of concurrent exports and of concurrent imports.',
  deliveries: 'A maximum number of deliveries per minute and IP address.',
  registrations: 'A maximum number of apps per hour and IP address.',
} as const
type RateLimit = keyof typeof rateLimits

/** A response without the envelope: its description, and the content type of its body if it has one. */
interface RawAnswer {
  description: string
  type?: string
}
export type RawAnswers = Readonly<Record<number, RawAnswer>>

/** The responses of `sendFile`: the file, a range of it, or that the client already has it. */
export const fileAnswers = (type: string): RawAnswers => ({
  200: { description: 'The file', type },
  206: { description: 'A range of the file', type },
  304: { description: 'The file is unchanged' },
})

export interface Spec {
  who: Who
  /** An imperative without a period. */
  summary: string
  /** Complete sentences that follow the summary. */
  details?: string
  /** Query (GET, DELETE) or body (POST, PUT, PATCH), without the path's parameters. */
  input?: GenericSchema
  /** The maximum length of a JSON body, if it differs from the default (`maxBodyBytes`). */
  maxBytes?: number
  /** 'rules': the domain checks the body, in its own order; the schema describes the accepted fields. */
  checkedBy?: 'rules'
  /** The content of `data`. A row without output responds with 204. */
  output?: GenericSchema
  /** Query fields of a route that also has a body. */
  query?: readonly string[]
  status?: Status
  /** The error code of each path parameter, if the row does not exist, or the caller cannot see it. */
  notFound?: Readonly<Record<string, NotFoundCode>>
  /** Whether IDs are integers, in the path and in the response. Without it, they are decimal strings. */
  integerIds?: true
  /**
   * Whether the route supports an `Idempotency-Key`: its response is stored with the key for a day. Required for every create
   * route. A route whose response contains a secret that is shown once, or is not a row of the database, does not accept the key.
   */
  idempotent?: boolean
  /** Whether the route supports `If-Match`: 412 for another version. */
  ifMatch?: true
  /**
   * Whether the route responds to `Accept: text/csv` with the list as CSV: a line with the names of the output's fields, and a
   * line per row.
   */
  csv?: true
  /** The limit for which the route responds with 429. */
  rateLimit?: RateLimit
  /** Whether the route accepts requests with any Host. Probes of load balancers use the address of the machine, or send none. */
  anyHost?: true
  /** Error codes in addition to those that follow from the rest of the row (`failuresOf`). */
  fails?: readonly ErrorCode[]
  /** The audit entry of the route. Undefined if it is not audited. */
  audited?: Audited
  /** The route as a tool for models. Undefined if it is not a tool. */
  tool?: Tool
  /** Types of events. */
  emits?: readonly string[]
  /**
   * The machine that responds if several machines share the board. `machine`: the one with the project's folder and processes. `machine or
   * here`: this one if that machine has no reachable daemon. `if it starts`: only for a card that starts an agent.
   */
  at?: 'machine' | 'machine or here' | 'machine or here, if it starts'
  /**
   * Whether the route waits for a remote, a forge or Git, or reads and writes the whole board, which can take minutes. Clients
   * use a longer timeout.
   */
  takesLong?: true
  /**
   * 'file': the handler returns a named file. 'raw': the handler returns its own Response. 'upload': the handler reads a
   * multipart body itself.
   */
  transfer?: 'file' | 'raw' | 'upload'
  /** Whether the body is kept verbatim, because its signature covers its bytes. */
  signed?: true
  /** Whether the body is `application/x-www-form-urlencoded`, as the standard behind the row requires. */
  form?: true
  /** Whether errors are in OAuth's form, `{"error": "invalid_grant", "error_description"}`, instead of the envelope. */
  oauth?: true
  /** Whether a 401 states where a client can sign in (RFC 9728). */
  challenges?: true
  /** The responses of a 'file' or 'raw' row, by status. */
  answers?: RawAnswers
}

export type Route<P extends string = string, S extends Spec = Spec> = S & {
  method: Method
  path: P
  status: Status
  /** The type of the request's body. If there is none, or if the body is a file, `input` is in the query. */
  body: 'json' | 'form' | 'multipart' | 'bytes' | 'none'
}

/** The fields that a row requires because of its path or its status. */
type Required<P extends string, S extends Spec> = ([ParamNames<P>] extends [never]
  ? unknown
  : { notFound: Record<ParamNames<P>, NotFoundCode> }) &
  (S extends { status: 201 } ? { idempotent: boolean } : unknown) &
  (S extends { transfer: 'file' | 'raw' } ? { answers: RawAnswers } : unknown)

const declare =
  (method: Method) =>
  <const P extends string, const S extends Spec>(path: P, spec: S & Required<P, S>): Route<P, S> => ({
    ...spec,
    method,
    path,
    status: spec.status ?? (spec.output || spec.transfer ? 200 : 204),
    body: spec.signed
      ? 'bytes'
      : spec.transfer === 'upload'
        ? 'multipart'
        : method === 'GET' || method === 'DELETE'
          ? 'none'
          : spec.form
            ? 'form'
            : 'json',
  })

export const get = declare('GET')
export const post = declare('POST')
export const put = declare('PUT')
export const patch = declare('PATCH')
export const del = declare('DELETE')

/** Path parameters that are text. Every other parameter is the ID of a row. */
export const textParams = ['filename', 'email', 'agent'] as const
type TextParam = (typeof textParams)[number]

type ParamNames<P extends string> = P extends `${string}{${infer Name}}${infer Rest}` ? Name | ParamNames<Rest> : never
type SentParams<P extends string> = { [K in ParamNames<P>]: K extends TextParam ? string : string | number }
type ReceivedParams<P extends string> = { [K in ParamNames<P>]: K extends TextParam ? string : number }
type Part<S, Empty> = S extends GenericSchema ? S : Empty

/** The input of a client: path parameters and the input's fields in one object. */
export type Sent<R extends Route> = SentParams<R['path']> &
  (Part<R['input'], never> extends never ? unknown : InferInput<NonNullable<R['input']>>)
/**
 * The input of a handler: the client's input after validation, or unchanged if the domain checks the fields. IDs are integers.
 */
export type Received<R extends Route> = ReceivedParams<R['path']> &
  (R['checkedBy'] extends 'rules'
    ? Record<string, unknown>
    : Part<R['input'], never> extends never
      ? unknown
      : InferOutput<NonNullable<R['input']>>)
/** The content of `data` in the route's response. */
export type Output<R extends Route> = R['transfer'] extends 'file' | 'raw'
  ? Response
  : Part<R['output'], never> extends never
    ? void
    : InferOutput<NonNullable<R['output']>>

/** The maximum length of a JSON body. An anonymous body contains only a name and a password, other bodies contain whole texts. */
export const maxBodyBytes = ({ who, maxBytes }: Route): number =>
  maxBytes ?? (who.kind === 'public' ? 16_384 : 1024 * 1024)

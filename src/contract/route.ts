import type { GenericSchema, InferInput, InferOutput } from 'valibot'
import type { ErrorCode, NotFoundCode } from './errors.ts'
import type { Tool } from './tool.ts'

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'

/** What an API key may be allowed to do. The first six are the specification's ("Authentication"). */
export const externalPermissions = [
  'cards.read',
  'cards.create',
  'pipelines.trigger',
  'cards.move',
  'agents.cancel',
  'agents.archive',
] as const
/** Permissions for project-scoped client routes, one family a resource. */
const clientPermissions = [
  'projects.read',
  'boards.read',
  'boards.write',
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
/** What a key of any scope may hold. */
export const projectPermissions = [...externalPermissions, ...clientPermissions] as const
export const permissions = [...projectPermissions, ...serverPermissions] as const
export type Permission = (typeof permissions)[number]

export type ProjectRole = 'viewer' | 'member' | 'admin'

/** The input field that leads to the project whose access rules hold. */
export type Through = 'projectId' | 'id' | 'flatCard' | 'attachmentId'

/** Who may call a route. It is enforced for every row in one place, never in a handler. */
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
/** Anybody signed in, or an API key with the permission: what it answers is within the key's scope. */
export const userOr = (permission: Permission): Who => ({ kind: 'user', permission })
export const admin: Who = { kind: 'admin' }
export const superAdmin: Who = { kind: 'super' }
/** A super_admin, or a key of a super_admin's with server scope and the permission. */
export const superAdminOr = (permission: Permission): Who => ({ kind: 'super', permission })
/** The account that the server runs under, on its machine, and super_admins. */
export const localOrSuper: Who = { kind: 'local' }

/** Anybody who may see the project. */
export const viewer = (permission?: Permission, through: Through = 'projectId'): Who => ({
  kind: 'member',
  role: 'viewer',
  permission,
  through,
})
/** Anybody who may work in the project. */
export const member = (permission?: Permission, through: Through = 'projectId'): Who => ({
  kind: 'member',
  role: 'member',
  permission,
  through,
})
/** Anybody who may manage the project: its owner, its admins, its organization's admins. */
export const manager = (permission?: Permission, through: Through = 'projectId'): Who => ({
  kind: 'member',
  role: 'admin',
  permission,
  through,
})
/** Anybody in the organization that the path's parameter names, and server administrators. */
export const organizationMember = (through: 'id' | 'orgId'): Who => ({ kind: 'organization', role: 'member', through })
/** An admin of the organization, and server administrators. */
export const organizationAdmin = (through: 'id' | 'orgId'): Who => ({ kind: 'organization', role: 'admin', through })
/** An API key with one of these permissions, on the external routes. */
export const key = (...allowed: Permission[]): Who => ({ kind: 'key', permissions: allowed })

/** An agent token of the card that the path's parameter names, and nothing else. */
export const agentOf = (through: 'cardId'): Who => ({ kind: 'agent', through })
/** Any token will do: a sign-in, a key whatever it may do, an agent's, the local one. */
export const anyToken: Who = { kind: 'token' }

/** The permissions one of which an API key needs; none on a route that is not open to keys. */
export function keyPermissionsOf(who: Who): readonly Permission[] {
  if (who.kind === 'key') return who.permissions
  return 'permission' in who && who.permission ? [who.permission] : []
}

/** What the audit log says of a call that was answered well. Nothing that it names may be a secret or somebody's text. */
export interface Audited {
  /** What kind of thing it is done to. */
  target: string
  /** The field that names the thing, of the input or of what was made; without it the path's last parameter, or else `id`. */
  id?: string
  /** The thing's name where it is always the same. */
  named?: string
  /** Fields of the input or of what was made that say more; `role=user.role` gives one another name. */
  detail?: readonly string[]
  /** 'starts': only a call that starts an agent or a card's command is told of. */
  only?: 'starts'
}

type Status = 200 | 201 | 202 | 204

/** The limits that a row can name, beside that on the bodies which are read at once. */
export const rateLimits = {
  apiKey: 'So many requests a minute for each API key; the RateLimit headers tell how many are left.',
  signIn: '10 failures a minute for each address and for each email.',
  pendingSignIns: 'So many sign-ins of the identity provider at once.',
  transfers: 'So many exports and so many imports at once.',
  deliveries: 'So many deliveries a minute for each address.',
  registrations: 'So many apps an hour for each address.',
} as const
type RateLimit = keyof typeof rateLimits

/** An answer that is not in the envelope: what it is, and the content type of its body if it has one. */
interface RawAnswer {
  description: string
  type?: string
}
export type RawAnswers = Readonly<Record<number, RawAnswer>>

/** What `sendFile` answers: the file, a range of it, or that the client has it. */
export const fileAnswers = (type: string): RawAnswers => ({
  200: { description: 'The file', type },
  206: { description: 'A range of the file', type },
  304: { description: 'The client has the file' },
})

export interface Spec {
  who: Who
  summary: string
  /** Query (GET, DELETE) or body (POST, PUT, PATCH), without the path's parameters. */
  input?: GenericSchema
  /** How long a JSON body may be, if not as long as is usual (`maxBodyBytes`). */
  maxBytes?: number
  /** 'rules': the domain checks the body, in an order of its own; the schema says what it takes. */
  checkedBy?: 'rules'
  /** What `data` holds. A row without output answers 204. */
  output?: GenericSchema
  /** Query fields of a route that also has a body. */
  query?: readonly string[]
  status?: Status
  /** The code of each parameter of the path that names nothing, or nothing that the caller may see. */
  notFound?: Readonly<Record<string, NotFoundCode>>
  /** Whether ids are integers, in the path and in the answer. Without it they are decimal strings. */
  integerIds?: true
  /**
   * Whether an `Idempotency-Key` is honoured: the answer is kept with it for a day. Every create says so. One whose answer holds a
   * secret that is shown once, or is no row of the database, does not take the key.
   */
  idempotent?: boolean
  /** Whether `If-Match` is honoured: 412 for another version. */
  ifMatch?: true
  /** Whether `Accept: text/csv` is answered with the list as CSV: a line with the names of the output's fields, and one for each row. */
  csv?: true
  /** Which limit it answers 429 for. */
  rateLimit?: RateLimit
  /** Whether requests with any Host are answered. Probes of load balancers name the address of the machine, or send none. */
  anyHost?: true
  /** Codes of failures beside those that follow from the rest of the row (`failuresOf`). */
  fails?: readonly ErrorCode[]
  /** What the audit log says of it; without it nothing. */
  audited?: Audited
  /** What it is as a tool for models; without it none. */
  tool?: Tool
  /** Types of events. */
  emits?: readonly string[]
  /** Where it is answered if several machines share the board: where the project's folder and processes are, or there if a daemon works there. */
  at?: 'machine' | 'machine or here' | 'machine or here, if it starts'
  /** It waits for a remote, a forge or Git, or reads and writes the whole board, which may take minutes: clients give it longer than other calls. */
  takesLong?: true
  /** 'file': the handler answers with a named file. 'raw': with a Response of its own. 'upload': it reads a multipart body itself. */
  transfer?: 'file' | 'raw' | 'upload'
  /** The body is left as it came: its signature is over its bytes. */
  signed?: true
  /** The body is `application/x-www-form-urlencoded`, as the standard has it that the row follows. */
  form?: true
  /** Failures are in OAuth's form, `{"error": "invalid_grant", "error_description"}`, instead of the envelope. */
  oauth?: true
  /** A 401 says where a client can sign in (RFC 9728). */
  challenges?: true
  /** What a 'file' or 'raw' row answers, by status. */
  answers?: RawAnswers
}

export type Route<P extends string = string, S extends Spec = Spec> = S & {
  method: Method
  path: P
  status: Status
  /** What the request's body is. Where there is none, or it is a file, `input` stands in the query. */
  body: 'json' | 'form' | 'multipart' | 'bytes' | 'none'
}

/** What a row must say because of its path or its status. */
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

/** Path parameters that are text. Every other parameter is the id of a row. */
export const textParams = ['filename', 'email', 'agent'] as const
type TextParam = (typeof textParams)[number]

type ParamNames<P extends string> = P extends `${string}{${infer Name}}${infer Rest}` ? Name | ParamNames<Rest> : never
type SentParams<P extends string> = { [K in ParamNames<P>]: K extends TextParam ? string : string | number }
type ReceivedParams<P extends string> = { [K in ParamNames<P>]: K extends TextParam ? string : number }
type Part<S, Empty> = S extends GenericSchema ? S : Empty

/** What a client passes: path parameters and the input's fields in one object. */
export type Sent<R extends Route> = SentParams<R['path']> &
  (Part<R['input'], never> extends never ? unknown : InferInput<NonNullable<R['input']>>)
/** What a handler gets: the same object after validation; where the rules check the fields, as they came. Ids are integers. */
export type Received<R extends Route> = ReceivedParams<R['path']> &
  (R['checkedBy'] extends 'rules'
    ? Record<string, unknown>
    : Part<R['input'], never> extends never
      ? unknown
      : InferOutput<NonNullable<R['input']>>)
/** What the route answers in `data`. */
export type Output<R extends Route> = R['transfer'] extends 'file' | 'raw'
  ? Response
  : Part<R['output'], never> extends never
    ? void
    : InferOutput<NonNullable<R['output']>>

/** How long a JSON body may be: a stranger's holds no more than a name and a password, somebody's whole texts. */
export const maxBodyBytes = ({ who, maxBytes }: Route): number =>
  maxBytes ?? (who.kind === 'public' ? 16_384 : 1024 * 1024)

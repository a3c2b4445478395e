import type { Client } from '../../src/client/index.ts'
import type { ServerSelection } from './selectServer.ts'
import { exitOf, Failure, usage } from '../failures/failure.ts'
import { orElsewhere } from './otherProjects.ts'
import { nearestWords } from '../output/text.ts'

/** The dependencies of a lookup by name. A command's Context provides them. */
export interface LookupContext {
  client: Client
  external: boolean
  selection: ServerSelection
  mayAsk: boolean
  project(): Promise<Named>
}

/** Anything that has an ID and a name. */
export interface Named {
  id: string
  name: string
}

/**
 * Finds one of `items` by ID, with or without a leading #, then by exact name, then by name in any case.
 * @throws Failure (not found) with suggestions, or (usage) if the name is ambiguous, or if it is also the ID of another item.
 */
export function pickNamed<T extends Named>(kind: string, items: readonly T[], wanted: string, see: string): T {
  const byId = items.find(item => item.id === idOf(wanted))
  const other = items.find(item => item.name === wanted && item !== byId)
  if (byId && other)
    throw usage(`"${wanted}" is the ID of one ${kind} and the name of another`, {
      hint: `use an ID: "#${byId.id}" is ${byId.name}, "#${other.id}" is ${other.name}`,
      see,
    })
  if (byId) return byId
  const exact = items.filter(item => item.name === wanted)
  const same = exact.length > 0 ? exact : items.filter(item => item.name.toLowerCase() === wanted.toLowerCase())
  if (same.length === 1) return same[0]!
  if (same.length > 1)
    throw usage(`several ${kind}s are named "${wanted}"`, {
      hint: `use an ID: ${same.map(item => item.id).join(', ')}`,
      see,
    })
  const meant = nearestWords(
    wanted,
    items.map(item => item.name),
  )
  throw new Failure('notFound', `there is no ${kind} "${wanted}"`, {
    hint: meant.length > 0 ? `did you mean: ${meant.join(', ')}` : undefined,
    see,
  })
}

/**
 * A project by name or ID.
 * @throws Failure (usage) for a name that an API key without the permission projects.read cannot look up
 */
export async function resolveProject(context: LookupContext, wanted: string): Promise<Named> {
  if (context.external && isId(wanted)) return { id: wanted, name: `project ${wanted}` }
  const projects = await context.client.projects.list().catch((error: unknown) => {
    if (!context.external || exitOf(error) !== 'denied') throw error
    throw usage(`an API key without the permission projects.read names its project by ID, not "${wanted}"`, {
      hint: 'for example: -P 1',
      see: 'board help environment',
    })
  })
  const { id, name } = pickNamed('project', projects, wanted, 'board projects list')
  return { id, name }
}

/** A board of a project by name or ID. */
export async function resolveBoard(context: LookupContext, projectId: string, wanted: string): Promise<Named> {
  const isIn = async (other: string) => hasId(await listBoards(context, other), wanted)
  return orElsewhere(context, { kind: 'board', id: idOf(wanted), projectId }, isIn, async () =>
    pickNamed('board', await listBoards(context, projectId), wanted, 'board boards list'),
  )
}

const hasId = (items: readonly { id: string }[], wanted: string) => items.some(({ id }) => id === idOf(wanted))

/** Finds a column of a project by name or ID. The default board wins if several boards have a column of that name. */
export async function resolveColumn(
  context: LookupContext,
  projectId: string,
  wanted: string,
  boardId?: string,
): Promise<Named & { boardId: string; columnType: string }> {
  const columns = await listColumns(context, projectId, boardId)
  const same = columns.filter(({ name }) => name.toLowerCase() === wanted.toLowerCase())
  const onDefault = same.length > 1 ? await onDefaultBoard(context, projectId, same) : []
  const meant = onDefault.length > 0 && !columns.some(({ id }) => id === wanted) ? onDefault : columns
  const isIn = async (other: string) => hasId(await listColumns(context, other), wanted)
  return orElsewhere(context, { kind: 'column', id: idOf(wanted), projectId }, isIn, () =>
    pickNamed('column', meant, wanted, 'board columns list'),
  )
}

async function onDefaultBoard<T extends { boardId: string }>(
  context: LookupContext,
  projectId: string,
  columns: T[],
): Promise<T[]> {
  const [first] = await listBoards(context, projectId)
  return columns.filter(({ boardId }) => boardId === first?.id)
}

/**
 * Finds an organization of the caller by name or ID. The ID of another organization is sent to the server, which lets administrators manage
 * all organizations.
 */
export async function resolveOrganization(context: LookupContext, wanted: string): Promise<Named> {
  const own = await context.client.organizations.list()
  if (isId(wanted) && !own.some(({ id, name }) => id === wanted || name === wanted))
    return { id: wanted, name: `organization ${wanted}` }
  return pickNamed('organization', own, wanted, 'board orgs list')
}

export async function resolveTemplate(context: LookupContext, wanted: string): Promise<Named> {
  return pickNamed('template', await context.client.templates.list(), wanted, 'board templates list')
}

/** The path parameters of a script in the API. */
export interface ScriptPlace {
  projectId: string
  scriptId: string
}

/** A script of the current project by name or ID. */
export async function resolveScript(context: LookupContext, wanted: string): Promise<ScriptPlace & { name: string }> {
  const { id: projectId } = await context.project()
  const scriptsOf = (id: string) => context.client.scripts.list({ projectId: id })
  const isIn = async (other: string) => hasId(await scriptsOf(other), wanted)
  const { id: scriptId, name } = await orElsewhere(
    context,
    { kind: 'script', id: idOf(wanted), projectId },
    isIn,
    async () => pickNamed('script', await scriptsOf(projectId), wanted, 'board scripts list'),
  )
  return { projectId, scriptId, name }
}

/** A gate of the current project by name or ID. */
export async function resolveGate(
  context: LookupContext,
  wanted: string,
): Promise<{ projectId: string; gateId: string; name: string }> {
  const { id: projectId } = await context.project()
  const gatesOf = (id: string) => context.client.gates.list({ projectId: id })
  const isIn = async (other: string) => hasId(await gatesOf(other), wanted)
  const { id: gateId, name } = await orElsewhere(
    context,
    { kind: 'gate', id: idOf(wanted), projectId },
    isIn,
    async () => pickNamed('gate', await gatesOf(projectId), wanted, 'board gates list'),
  )
  return { projectId, gateId, name }
}

/** The path parameters of a schedule in the API. */
export interface SchedulePlace {
  projectId: string
  scheduleId: string
}

/**
 * Finds a schedule of the current project by name or ID. An API key requires the ID, because it might be able to change schedules
 * but not to read them.
 */
export async function resolveSchedule(
  context: LookupContext,
  wanted: string,
): Promise<SchedulePlace & { name: string }> {
  const { id: projectId } = await context.project()
  if (context.external && isId(wanted)) return { projectId, scheduleId: wanted, name: `schedule ${wanted}` }
  const schedules = await context.client.schedules.list({ projectId })
  const { id: scheduleId, name } = pickNamed('schedule', schedules, wanted, 'board schedules list')
  return { projectId, scheduleId, name }
}

/** The path parameters of a webhook in the API. */
export interface WebhookPlace {
  projectId: string
  webhookId: string
}

/**
 * Finds a webhook of the current project by ID or URL. An API key requires the ID, because it might be able to change webhooks
 * but not to read them.
 */
export async function resolveWebhook(context: LookupContext, wanted: string): Promise<WebhookPlace & { url: string }> {
  const { id: projectId } = await context.project()
  if (context.external && isId(wanted)) return { projectId, webhookId: wanted, url: 'its URL' }
  const webhooks = (await context.client.webhooks.list({ projectId })).map(({ id, url }) => ({ id, name: url }))
  const { id: webhookId, name: url } = pickNamed('webhook', webhooks, wanted, 'board webhooks list')
  return { projectId, webhookId, url }
}

export async function resolveKey(context: LookupContext, wanted: string): Promise<Named> {
  return pickNamed('key', await context.client.keys.list(), wanted, 'board keys list')
}

export async function resolveCredential(context: LookupContext, wanted: string): Promise<Named> {
  return pickNamed('credential', await context.client.credentials.list(), wanted, 'board credentials list')
}

/** A named configuration of an agent, by its name or ID. */
export async function resolveAgentProfile(context: LookupContext, wanted: string): Promise<Named> {
  return pickNamed('profile', await context.client.agentProfiles.list(), wanted, 'board agents profiles list')
}

/** The ID of one of the caller's credentials to be used, or null for `none`. */
export const chosenCredential = async (context: LookupContext, wanted: string): Promise<string | null> =>
  wanted === 'none' ? null : (await resolveCredential(context, wanted)).id

/** Finds an account by email or ID, for admins. `name` includes both if both are known. */
export async function resolveUser(context: LookupContext, wanted: string): Promise<Named & { email: string | null }> {
  if (isId(wanted)) return { id: wanted, name: wanted, email: null }
  const { users } = await context.client.users.list({ search: wanted, limit: 100 })
  const { id, email } = pickPerson(
    'user',
    users.map(user => ({ ...user, userId: user.id })),
    wanted,
    'board users list',
  )
  return { id, name: `${id} (${email})`, email }
}

/**
 * Finds one of `people` by ID, or by email in any case.
 * @throws Failure (not found) with suggestions
 */
export function pickPerson<T extends { email: string; userId: string | null }>(
  kind: string,
  people: readonly T[],
  wanted: string,
  see: string,
): T {
  const person = people.find(({ email, userId }) => userId === wanted || email.toLowerCase() === wanted.toLowerCase())
  if (person) return person
  const meant = nearestWords(
    wanted,
    people.map(({ email }) => email),
  )
  throw new Failure('notFound', `there is no ${kind} "${wanted}"`, {
    hint: meant.length > 0 ? `did you mean: ${meant.join(', ')}` : undefined,
    see,
  })
}

/** Returns a project's boards, from the routes that the token can call. */
export async function listBoards(context: LookupContext, projectId: string): Promise<Named[]> {
  if (!context.external) return context.client.boards.list({ projectId })
  return (await context.client.external.boards({ projectId })).map(({ id, name }) => ({ id: String(id), name }))
}

/** Returns a project's columns, from the routes that the token can call. */
export async function listColumns(
  context: LookupContext,
  projectId: string,
  boardId?: string,
): Promise<
  (Named & { boardId: string; columnType: string; cardCount: number; wipLimit: number | null; pull?: boolean })[]
> {
  if (!context.external) return context.client.columns.list({ projectId, boardId })
  return (await context.client.external.boards({ projectId }))
    .filter(board => boardId === undefined || String(board.id) === boardId)
    .flatMap(board =>
      board.columns.map(({ id, ...column }) => ({ id: String(id), ...column, boardId: String(board.id) })),
    )
}

export const isId = (text: string): boolean => /^[1-9]\d{0,15}$/.test(text)

/** Returns the ID of `12` or `#12`. Returns other text unchanged. */
export const idOf = (text: string): string => (/^#[1-9]\d{0,15}$/.test(text) ? text.slice(1) : text)

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { errors, type ErrorCode } from '../../src/contract/errors.ts'
import { isAboutServer } from '../../src/contract/accounts/keys.ts'
import { paramsOf } from '../../src/contract/paths.ts'
import {
  keyPermissionsOf,
  permissions,
  projectPermissions,
  type Permission,
  type Route,
} from '../../src/contract/route.ts'
import { headersOf, inputOf, landings, refusals, supplies } from '../support/contract/authorizationRequests.ts'
import {
  agentColumns,
  alsoNeeded,
  cells,
  columns,
  forAgents,
  inFields,
  inPath,
  sections,
  type Cell,
  type Column,
  type Section,
} from '../support/contract/authorizationTable.ts'
import { notifyingEventTypes } from '../../src/notifications/notificationDraft.ts'
import { listAuditRows } from '../../src/store/server/audit.ts'
import { readCursor, readEventsOfTypes } from '../../src/store/server/events.ts'
import { createWorld, type Place, type World } from '../support/contract/authorizationWorld.ts'
import { exampleOf, requestOf, rows, type Row } from '../support/contract/examples.ts'
import { type Reply } from '../support/servers/testBoard.ts'
import { eventually } from '../support/waiting/eventually.ts'
import { callTool, listTools, toolOf } from '../support/contract/toolCalls.ts'
import { boardToolNames, traitsOf } from '../../src/contract/agents/boardTools.ts'
import { openSocket } from '../support/receivers/liveSocket.ts'

type Where = 'own' | 'foreign'
interface Line {
  name: string
  row: Row
  allowed: Permission[]
  section: Section
}
/** The form of a call: a request, or the tool of the row. */
type Way = 'request' | 'tool'
interface Case {
  label: string
  line: Line
  way: Way
  where: Where
  column: Column
  cell: Cell
  token: string | null
  code?: ErrorCode
}

const people: readonly Column[] = columns.slice(2, 12)
const rowOf = (name: string) => rows.find(row => row.name === name)
const names: Array<{ name: string; permission: string; section: Section }> = sections.flatMap(section =>
  Object.entries(section.routes).flatMap(([permission, list]) =>
    list.split(',').map(name => ({ name: name.trim(), permission, section })),
  ),
)
const lines: Line[] = names
  .filter(({ name }) => rowOf(name.split(' ')[0]!))
  .map(({ name, permission, section }) => ({
    name,
    row: rowOf(name.split(' ')[0]!)!,
    allowed: permission === 'none' ? [] : (permission.split(' or ') as Permission[]),
    section,
  }))
const cellsOf = (section: Section, where: Where): Cell[] => (section[where] ?? '').trim().split(/\s+/) as Cell[]
const agentCellsOf = ({ name, section }: Line, where: Where): Cell[] =>
  (
    forAgents[name]?.[where] ?? (cellsOf(section, where)[columns.indexOf('nobody')] === 'ok' ? 'ok ok' : '403 403')
  ).split(' ') as Cell[]
const order: readonly Column[] = [...columns, ...agentColumns]
const isAgent = (column: Column): column is (typeof agentColumns)[number] => agentColumns.some(each => each === column)

let world: World
beforeAll(async () => {
  world = await createWorld()
})
afterAll(async () => {
  await world.board.close()
})

describe('the table', () => {
  it('has every route of the contract, and no other', () => {
    expect(rows.map(({ name }) => name).filter(name => !lines.some(({ row }) => row.name === name))).toEqual([])
    expect(names.map(({ name }) => name).filter(name => !rowOf(name.split(' ')[0]!))).toEqual([])
    expect(names.map(({ name }) => name).filter((name, at, all) => all.indexOf(name) !== at)).toEqual([])
  })

  it('has a response for every caller', () => {
    for (const section of sections)
      for (const where of ['own', 'foreign'] as const) {
        if (section[where] === undefined) continue
        expect(cellsOf(section, where), section.about).toHaveLength(columns.length)
        expect(
          cellsOf(section, where).filter(cell => !cells.includes(cell)),
          section.about,
        ).toEqual([])
      }
  })

  it('names routes for agents that exist', () => {
    expect(Object.keys(forAgents).filter(name => !lines.some(line => line.name === name))).toEqual([])
    expect(
      Object.values(forAgents)
        .flatMap(({ own, foreign }) => [own, foreign])
        .flatMap(each => each.split(' '))
        .filter(cell => !cells.some(each => each === cell)),
    ).toEqual([])
  })

  it('names permissions that exist, each for a route', () => {
    expect([...new Set(lines.flatMap(({ allowed }) => allowed))].sort()).toEqual([...permissions].sort())
  })

  it('and the contract require the same role in a project, and the same permission of a key', () => {
    const cellOf = (line: Line, column: Column) =>
      cellsOf(line.section, 'own')[columns.indexOf(column as (typeof columns)[number])]
    // A socket names its project in a message.
    for (const line of lines.filter(({ name }) => name !== 'server.socket')) {
      const { who } = line.row.route
      expect([...line.allowed].sort(), line.name).toEqual([...keyPermissionsOf(who)].sort())
      if (who.kind !== 'member') continue
      // Only a manager can remove others, and every member can leave.
      const role = line.name === 'members.remove' ? 'admin' : who.role
      expect(
        (['viewer', 'member', 'manager'] as const).find(column => cellOf(line, column) === 'ok'),
        line.name,
      ).toBe(role === 'admin' ? 'manager' : role)
    }
  })

  it('has every field that names a row', () => {
    const fields = ({ input }: Route) => {
      const object = input && 'wrapped' in input ? (input.wrapped as object) : input
      return object && 'entries' in object ? Object.keys(object.entries as object) : []
    }
    const naming = rows.flatMap(({ name, route }) =>
      fields(route)
        .filter(
          field =>
            /Id$|^assigneeIds$|^ids$|^steps$|^blockedBy$/.test(field) &&
            !/^(groupId|clientId|copyId|requestId|optionId)$/.test(field),
        )
        .map(field => `${name} ${field}`),
    )
    naming.push('agents.diff since', 'reviews.changedFile since')
    expect(naming.sort()).toEqual(Object.keys(inFields).sort())
  })
})

describe('the tools that are listed', () => {
  const tools = lines.filter(({ row }) => toolOf(row))
  const namesOf = (some: Line[]) => [...new Set(some.map(({ row }) => toolOf(row)!))].sort()
  const letIn = (column: Column) =>
    tools.filter(({ section }) =>
      (['own', 'foreign'] as const).some(where => cellsOf(section, where)[order.indexOf(column)] === 'ok'),
    )

  it('are those of the rows that the table allows the caller', async () => {
    for (const column of people)
      expect(await listTools(world.board, world.people[column as keyof World['people']].token), column).toEqual(
        namesOf(letIn(column)),
      )
    for (const column of ['viewerKey', 'orgKey', 'superKey'] as const)
      expect(await listTools(world.board, world.keys[column]), column).toEqual(namesOf(letIn(column)))
    for (const column of agentColumns)
      expect(await listTools(world.board, await world.agentToken(column)), column).toEqual(
        boardToolNames.filter(name => !traitsOf(name).forReviewers).sort(),
      )
  })

  it.each(projectPermissions)('for a key with %s are those that need it, and without it none of them', async each => {
    const others = projectPermissions.filter(other => other !== each)
    for (const held of [[each], others] as Permission[][])
      expect(await listTools(world.board, await keyFor(held)), held.join()).toEqual(
        namesOf(letIn('key').filter(({ allowed }) => allowed.some(one => held.includes(one)))),
      )
  })
})

const saying = (cell: RegExp) =>
  lines
    .filter(({ section }) => cell.test(`${section.own} ${section.foreign}`))
    .map(line => [line.name, line.section.about, line] as const)

it.each(saying(/40\d/))('%s rejects all except %s, and changes nothing', async (_, _about, line) => {
  const refused = (await casesOf(line)).filter(({ cell }) => cell !== 'ok')
  const unseen = refused.find(({ cell }) => cell === '404')
  const before = await everything()
  const missing = new Map<Way, Reply>()
  if (unseen) for (const way of waysOf(line)) missing.set(way, await send(line, way, nowhere(world.own), unseen.token))
  const answers = await Promise.all(
    refused.map(
      async ({ label, way, where, token }) =>
        [label, told(await send(line, way, world[where], token), missing.get(way))] as const,
    ),
  )
  expect(Object.fromEntries(answers)).toEqual(Object.fromEntries(refused.map(each => [each.label, expectation(each)])))
  expect(await everything()).toEqual(before)
})

it.each(saying(/ok/))('%s accepts %s', async (_, _about, line) => {
  const allowed = (await casesOf(line)).filter(({ cell }) => cell === 'ok')
  const { id: last } = (await audited())[0] ?? { id: 0 }
  const answers = await Promise.all(allowed.map(async each => [each.label, landed(await sendForGood(each))] as const))
  const entries = (await audited()).filter(({ id, action }) => id > last && action === line.row.name)
  const done = answers.filter(([, answer]) => typeof answer === 'number' && answer < 400)
  expect(entries.length, 'entries in the audit log').toBe(
    { undefined: 0, always: done.length, starts: Math.min(entries.length, done.length) }[
      String(line.row.route.audited && (line.row.route.audited.only ?? 'always'))
    ],
  )
  expect(Object.fromEntries(answers)).toEqual(
    Object.fromEntries(
      allowed.map(({ label, column }) => [
        label,
        landings[`${line.name} ${column}`] ?? landings[line.name] ?? line.row.route.status,
      ]),
    ),
  )
})

describe("an object of another user in a user's own request", () => {
  const behindFirst = rows.flatMap(row =>
    paramsOf(row.route.path)
      .slice(1)
      .map(param => [row.name, param, row] as const),
  )
  const askers = (row: Row) =>
    row.route.who.kind === 'key'
      ? [world.keys.orgKey, world.keys.superKey]
      : [world.people.chief.token, world.people.super.token]
  const sendPlain = (row: Row, input: Record<string, unknown>, token: string) => {
    const { path, options } = requestOf(row.route, input)
    return world.board.request(row.route.method, path, { token, ...options })
  }
  const foreignValue: Record<string, (place: Place) => unknown> = {
    ids: ({ columnId }) => [columnId],
    'inbox.mark ids': ({ cardId }) => [`question-${cardId}`],
    'agents.diff since': ({ reviewId }) => reviewId,
    'reviews.changedFile since': ({ reviewId }) => reviewId,
    parentId: ({ cardId }) => cardId,
    discoveredFromId: ({ cardId }) => cardId,
    baseCardId: ({ cardId }) => cardId,
    mergedColumnId: ({ columnId }) => columnId,
    closedColumnId: ({ columnId }) => columnId,
    blockedBy: ({ cardId }) => [cardId],
    'external.create blockedBy': ({ cardId }) => [Number(cardId)],
    assigneeId: () => world.people.stranger.id,
    assigneeIds: () => [world.people.stranger.id],
    'external.create assigneeIds': () => [Number(world.people.stranger.id)],
    steps: ({ activeColumnId }) => [{ columnId: activeColumnId }],
    scopeId: ({ projectId }) => projectId,
    targetColumnId: ({ columnId }) => Number(columnId),
    'external.create columnId': ({ columnId }) => Number(columnId),
  }

  /** The other input that is required so that the field alone decides the response, and disposable objects for irreversible changes. */
  const aside: Record<string, (field: string) => object | Promise<object>> = {
    'inbox.mark': field => (field === 'ids' ? { all: undefined } : {}),
    'keys.create': field => ({ scope: field.replace('Id', ''), projectId: undefined }),
    'transfers.import': field => (field === 'projectId' ? {} : { projectId: undefined, path: world.own.path }),
    'projects.update': () => supplies['projects.delete']!({ world, place: world.own, person: world.people.owner }),
  }

  // Scripts of the earlier tests end later, and assignments cause notifications: these are not effects of the requests below.
  beforeAll(() => eventually('the end of the scripts', async () => (await everything()).process_runs === null))
  beforeAll(() =>
    eventually('the notifications', async () => {
      const { db } = world.board.server.app
      const read = (await readCursor(db, 'notifications')) ?? 0
      return (await readEventsOfTypes(db, notifyingEventTypes, read, 1)).length === 0
    }),
  )

  it.each(behindFirst)('is not found in the path of %s: %s', async (name, param, row) => {
    const input = { ...exampleOf(row, world.own), [param]: exampleOf(row, world.foreign)[param] }
    const before = await everything()
    for (const token of askers(row))
      expect((await sendPlain(row, input, token)).body?.error.code).toBe(inPath[`${name} ${param}`] ?? inPath[param])
    expect(await everything()).toEqual(before)
  })

  it.each(Object.entries(inFields))('returns the expected response in %s', async (entry, expected) => {
    const [name, field] = entry.split(' ') as [string, string]
    const row = rowOf(name)!
    const value =
      foreignValue[`${name} ${field}`]?.(world.foreign) ??
      foreignValue[field]?.(world.foreign) ??
      world.foreign[field as keyof Place]
    const answers = []
    for (const token of askers(row))
      answers.push(
        summary(
          await sendPlain(
            row,
            { ...exampleOf(row, world.own), ...(await aside[name]?.(field)), [field]: value },
            token,
          ),
        ),
      )
    // Whether a supply is used up depends on the previous rows.
    const given = answers.map((answer, at) =>
      expected[at] === 'ok or empty' && ['ok', 'empty'].includes(answer) ? expected[at] : answer,
    )
    expect(given).toEqual(expected)
  })
})

it("lists hold only visible objects, including the user's own", async () => {
  const [sees, belongs] = ['projects.get', 'organizations.get'].map(
    name => lines.find(line => line.name === name)!.section,
  ) as [Section, Section]
  for (const column of people) {
    const { client, own } = world.people[column as keyof World['people']]
    const ids = async (list: Promise<Array<{ id: string }>>) => (await list).map(({ id }) => id)
    const projects = await ids(client.projects.list())
    for (const where of ['own', 'foreign'] as const)
      expect(projects.includes(world[where].projectId), `${column} ${where}`).toBe(
        cellsOf(sees, where)[order.indexOf(column)] === 'ok',
      )
    const isMember = ['crew', 'chief'].includes(column)
    expect(isMember && cellsOf(belongs, 'own')[order.indexOf(column)] !== 'ok').toBe(false)
    const organizations = await ids(client.organizations.list())
    expect(
      [organizations.includes(world.own.organizationId), organizations.includes(world.foreign.organizationId)],
      column,
    ).toEqual([isMember, false])
    for (const [list, mine, theirs] of [
      [client.keys.list(), own.keyId, world.foreign.keyId],
      [client.credentials.list(), own.credentialId, world.foreign.credentialId],
    ] as const) {
      const listed = await ids(list)
      expect([listed.includes(mine), listed.includes(theirs)], column).toEqual([true, false])
    }
  }
})

/** Every request of a line, and every call of a tool. Agents have separate tools. */
async function casesOf(line: Line): Promise<Case[]> {
  const all = await Promise.all(
    (['own', 'foreign'] as const)
      .filter(where => line.section[where] !== undefined)
      .flatMap(where =>
        order.map(async (column, at) => {
          const cell = [...cellsOf(line.section, where), ...agentCellsOf(line, where)][at]!
          const ways = isAgent(column) ? (['request'] as const) : waysOf(line)
          return (await tokensOf(line, column)).flatMap(({ token, why, code }) =>
            ways.map((way): Case => ({
              label: [where, column, why, way === 'tool' && 'by tool'].filter(Boolean).join(' '),
              line,
              way,
              where,
              column,
              cell,
              token,
              code,
            })),
          )
        }),
      ),
  )
  return all.flat()
}

const waysOf = ({ row }: Line): readonly Way[] => (toolOf(row) ? ['request', 'tool'] : ['request'])

async function tokensOf(
  { name, allowed }: Line,
  column: Column,
): Promise<Array<{ token: string | null; why?: string; code?: ErrorCode }>> {
  if (isAgent(column)) return [{ token: await world.agentToken(column) }]
  if (column === 'nobody') return [{ token: null }]
  if (column === 'ended') return world.ended
  if (column === 'key')
    return Promise.all(
      (allowed.length > 0 ? allowed.map(each => [each]) : [projectPermissions]).map(async each => ({
        token: await keyFor([...each, ...(alsoNeeded[name] ?? [])]),
        why: each.length === 1 ? each[0] : undefined,
      })),
    )
  if (column === 'keyless')
    return [
      {
        token: await keyFor(
          (allowed.some(isAboutServer) ? permissions : projectPermissions).filter(each => !allowed.includes(each)),
        ),
      },
    ]
  if (column === 'viewerKey' || column === 'orgKey' || column === 'superKey') return [{ token: world.keys[column] }]
  return [{ token: world.people[column].token }]
}

const keys = new Map<string, Promise<string>>()
function keyFor(allowed: readonly Permission[]): Promise<string> {
  const name = allowed.join()
  if (!keys.has(name)) keys.set(name, world.keyFor(allowed))
  return keys.get(name)!
}

/** Sends a line's request as a caller that is rejected. */
function send(
  { name, row }: Line,
  way: Way,
  place: Place,
  token: string | null,
  given: Record<string, unknown> = {},
): Promise<Reply> {
  if (name === 'server.socket') return subscribe(token, place.projectId)
  const input = { ...inputOf(name, row, place, world), ...given }
  if (way === 'tool') return callTool(world.board, row, input, { place, token })
  const { path, options } = requestOf(row.route, input)
  return world.board.request(row.route.method, path, {
    token,
    ...options,
    headers: { ...options.headers, ...headersOf(name) },
  })
}

/** Sends a line's request as a caller that is accepted, with the input that it uses up. */
async function sendForGood({ line, way, where, column, token }: Case): Promise<Reply> {
  const place = world[where]
  const owner = column === 'viewerKey' ? world.people.viewer : world.people.super
  const person = people.includes(column) ? world.people[column as keyof World['people']] : owner
  const { bearer, ...given } = (await supplies[line.name]?.({ world, place, person })) ?? {}
  return send(line, way, place, (bearer as string | undefined) ?? token, given)
}

/** Follows a project over the WebSocket, and returns the result like a response of HTTP. */
async function subscribe(token: string | null, projectId: string): Promise<Reply> {
  const live = await openSocket(world.board.url, token ?? undefined)
  live.send({ type: 'subscribe', payload: { projectId } })
  const message = await eventually(
    'an answer on the socket',
    () => live.closed ?? live.messages.find(({ type }) => type !== 'notification' && type !== 'inbox.updated'),
    20_000,
  )
  live.close()
  const code: ErrorCode | undefined =
    message.code === 4001 ? (/expired/.test(message.reason) ? 'TOKEN_EXPIRED' : 'UNAUTHENTICATED') : message.data?.code
  const text = JSON.stringify({ code, message: message.data?.message })
  return {
    status: code ? errors[code][0] : 200,
    headers: new Headers(),
    text,
    body: code ? { error: { code } } : undefined,
  }
}

/** The content of a rejection. A 404 must be identical to that of an object that does not exist. */
const told = ({ status, body, text }: Reply, missing?: Reply): string =>
  status === 404
    ? `404 ${text === missing?.text ? 'like what does not exist' : text}`
    : `${status} ${body?.error?.code ?? text}`

function expectation({ line, column, cell, code }: Case): string {
  if (cell === '404') return '404 like what does not exist'
  if (line.row.route.signed) return '401 UNAUTHENTICATED'
  if (cell === '401') return `401 ${code ?? 'UNAUTHENTICATED'}`
  if (line.section.refusal) return `403 ${line.section.refusal}`
  if (isAgent(column)) return '403 FORBIDDEN'
  if (people.includes(column) && refusals[line.name]) return `403 ${refusals[line.name]}`
  return `403 ${people.includes(column) || (line.allowed.length > 0 && column !== 'keyless' && !line.allowed.some(isAboutServer)) ? 'FORBIDDEN' : 'INSUFFICIENT_PERMISSIONS'}`
}

const landed = ({ status, body }: Reply): number | string =>
  (typeof body?.error === 'string' ? body.error : body?.error?.code) ?? status

/** The result of a request: `ok`, a code, or `empty` for an empty list. */
function summary({ body, status, text }: Reply): string {
  if (status >= 300) return body?.error?.code ?? text
  const list = Array.isArray(body?.data) ? body.data : body?.data?.items
  return list?.length === 0 ? 'empty' : 'ok'
}

/** The newest entries of the audit log about successful actions. */
const audited = () => listAuditRows(world.board.server.app.db, { outcome: 'ok', limit: 1000 })

/** A place with ids that do not exist. */
const nowhere = (place: Place): Place =>
  Object.fromEntries(
    Object.entries(place).map(([name, value]) => [
      name,
      typeof value === 'string' && /^\d+$/.test(value) ? '999999999' : value,
    ]),
  ) as unknown as Place

/** The whole database, one text per table, except the last use of keys, data that the server writes automatically (the index of words, the days of projects, cursors of readers, the serving daemons), and the number of failed sign-ins, which it writes some seconds later. */
async function everything(): Promise<Record<string, string | null>> {
  const { db } = world.board.server.app
  columnsOfTables ??= db.all<{
    name: string
    row: string
  }>(`SELECT tables.name, group_concat('quote("' || columns.name || '")', ' || '','' || ') AS row FROM sqlite_master AS tables, pragma_table_info(tables.name) AS columns
    WHERE tables.type = 'table' AND tables.name NOT LIKE 'card_t%' AND tables.name NOT IN ('unindexed_cards', 'unindexed_remarks', 'project_days', 'event_cursors', 'daemons', 'leases') AND columns.name <> 'last_used_at' AND (tables.name, columns.name) NOT IN (VALUES ('audit_entries', 'count'), ('audit_entries', 'target_id')) GROUP BY tables.name`)
  return Object.fromEntries(
    await Promise.all(
      (await columnsOfTables).map(
        async ({ name, row }) =>
          [
            name,
            (await db.get<{ lines: string | null }>(`SELECT group_concat(${row}, char(10)) AS lines FROM "${name}"`))!
              .lines,
          ] as const,
      ),
    ),
  )
}
let columnsOfTables: Promise<Array<{ name: string; row: string }>> | undefined

import { afterAll, beforeAll, expect, test } from 'vitest'
import { commandLine } from '../support/commands/commandLine.ts'
import { startWebProject, type WebProject } from '../support/servers/webProject.ts'

let web: WebProject
beforeAll(async () => {
  web = await startWebProject()
})
afterAll(() => web.close())

const operator = { userId: '0', displayName: 'Local operator' }
const ids = async (...args: string[]) => (await web.cli.ok(['cards', ...args, '-q'])).split('\n').filter(Boolean)
const assigneesOf = async (id: string) => (await web.cli.json<{ assignees: unknown }>(['cards', 'view', id])).assignees

test('on a server without accounts, me is the local operator, who becomes the first account', async () => {
  const { cli, server, projectId } = web
  const [mine] = await ids('add', 'Mine', '--assignee', 'me')
  const [other] = await ids('add', 'Other')
  expect(await assigneesOf(mine!)).toEqual([operator])
  expect(await ids('list', '--assignee', 'me')).toEqual([mine])
  expect(await ids('ready', '--assignee', 'Local operator')).toEqual([mine])
  expect(await ids('list', '--assignee', 'none')).toEqual([other])

  await cli.ok(['cards', 'assign', other!, '--to', 'me'])
  await cli.ok(['cards', 'edit', mine!, '--remove-assignee', 'me'])
  expect(await ids('list', '--assignee', 'me')).toEqual([other])
  await cli.ok(['cards', 'edit', mine!, '--add-assignee', 'me'])
  const line = ['schedules', 'add', 'weekly', '--cron', '0 7 * * 1', '--title', 'Weekly', '--assignee', 'me']
  const { id: scheduleId } = await cli.json(line)

  const { key } = await server.client.keys.create({
    name: 'all',
    scope: 'project',
    projectId,
    permissions: ['cards.read', 'cards.create'],
  })
  const external = server.as(key).external
  expect(await external.create({ projectId, title: 'External', assigneeIds: [0] })).toMatchObject({
    assignees: [{ userId: 0, displayName: 'Local operator' }],
  })
  expect((await external.list({ projectId, assigneeId: 0 })).items.map(({ title }) => title)).toEqual([
    'Mine',
    'Other',
    'External',
  ])
  await cli.ok(['cards', 'delete', other!, '--yes'])

  const { token } = await server.client.auth.setup({
    email: 'ada@example.org',
    password: 'correct horse',
    displayName: 'Ada',
  })
  const ada = commandLine({ ...cli.env, BOARD_TOKEN: token })
  const { id: userId } = await ada.json(['whoami'])
  expect(await assigneesOf(mine!)).toEqual([{ userId, displayName: 'Ada' }])
  expect(
    (await ada.json<{ title: string }[]>(['cards', 'list', '--assignee', 'me'])).map(({ title }) => title),
  ).toEqual(['Mine', 'External'])
  const schedule = (await server.as(token).schedules.list({ projectId })).find(({ id }) => id === scheduleId)
  expect(schedule!.template.assigneeIds).toEqual([userId])
  await expect(server.as(token).cards.create({ projectId, title: 'Late', assigneeIds: ['0'] })).rejects.toMatchObject({
    code: 'VALIDATION_FAILED',
  })
  ada.close()
})

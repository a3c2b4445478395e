import { mkdirSync, mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { boardProcess, clearAway } from '../support/processes/boardProcess.ts'
import { eventually } from '../support/waiting/eventually.ts'
import { follow } from '../support/receivers/liveSocket.ts'
import { processesWith } from '../support/processes/processFiles.ts'
import { deafGrandchild, newScript, scriptOf } from './scriptBoard.ts'

const root = mkdtempSync(join(tmpdir(), 'board-scripts-'))
const path = join(root, 'project')
mkdirSync(path)
const secrets = {
  BOARD_SECRET_KEY: Buffer.alloc(32, 7).toString('base64'),
  BOARD_TOKEN: 'a token of the shell',
  AWS_SECRET_ACCESS_KEY: 'a key of the cloud',
}
const server = boardProcess(join(root, 'data'), { HOME: root, LANG: 'C.UTF-8', ...secrets })
afterAll(() => clearAway(server, root))

test("a script runs in its project's folder with the server and the project in its environment, and no secrets of the server", async () => {
  await server.start()
  const { id } = await server.client.projects.create({ name: 'Web', path })
  const script = await newScript(server.client, id, 'pwd; env')
  await script.run()
  const [folder, ...variables] = (await script.ended()).output.trimEnd().split('\n')
  expect(folder).toBe(path)
  expect(variables).toEqual(
    expect.arrayContaining([`BOARD_URL=${server.url}`, `BOARD_PROJECT_ID=${id}`, `HOME=${root}`, 'LANG=C.UTF-8']),
  )
  for (const [name, value] of Object.entries(secrets))
    expect(variables.filter(each => each.startsWith(`${name}=`) || each.includes(value))).toEqual([])
  expect(variables.filter(each => each.includes(server.token) || each.includes('svc_'))).toEqual([])
})

test('a run whose server was killed has failed at the next start, and its processes are ended', async () => {
  const { id } = await server.client.projects.create({ name: 'Killed', path })
  const script = await newScript(server.client, id, `echo begun; ${deafGrandchild} sleep 300 # $TAG`)
  const tag = /board-script-[\w-]+/.exec((await server.client.scripts.list({ projectId: id }))[0]!.command)![0]
  await script.run()
  await script.until('its words', run => run.output === 'begun\n')
  await eventually('its processes', () => script.processes().length >= 2)
  await server.end('SIGKILL')
  expect(processesWith(tag).length).toBeGreaterThan(0)
  await server.start()
  const after = scriptOf(server.client, script.place, tag)
  expect(await after.status()).toMatchObject({
    status: 'failed',
    exitCode: null,
    error: 'The server stopped while it ran.',
    finishedAt: expect.any(String),
  })
  expect(processesWith(tag)).toEqual([])
  const live = await follow(server.url, server.token, id, 0)
  expect((await live.message('script.finished')).data).toMatchObject({
    status: 'failed',
    error: 'The server stopped while it ran.',
  })
  live.close()
  await server.client.scripts.update({ ...script.place, command: 'echo again' })
  await after.run()
  expect(await after.ended()).toMatchObject({ status: 'succeeded', output: 'again\n' })
})

import { readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Permission } from '../../src/contract/route.ts'
import { run } from '../support/commands/commandLine.ts'
import { listPacked, unpackBoard } from '../support/commands/packedBoard.ts'
import { startWebProject, type WebProject } from '../support/servers/webProject.ts'

const root = resolve(import.meta.dirname, '../..')
const guide = readFileSync(join(root, 'docs/client.md'), 'utf8')
const [, ...blocks] = guide.split('```ts\n')
const examples = blocks.map(block => block.split('```')[0]!)
const answers = [
  'Write the release notes is in Done\n',
  /^400 VALIDATION_FAILED title .+\n$/,
  'one card\nVERSION_CONFLICT\n',
  'created in Backlog\n',
]

let project: WebProject
let folder: string

beforeAll(async () => {
  project = await startWebProject()
  folder = project.server.folder('program')
  await unpackBoard(join(folder, 'node_modules/board'), { withDependencies: false })
  writeFileSync(join(folder, 'package.json'), '{"type":"module"}')
  const compilerOptions = { strict: true, module: 'nodenext', target: 'es2023', skipLibCheck: false, outDir: 'out' }
  writeFileSync(
    join(folder, 'tsconfig.json'),
    JSON.stringify({
      compilerOptions: { ...compilerOptions, types: ['node'], typeRoots: [join(root, 'node_modules/@types')] },
    }),
  )
  for (const [at, example] of examples.entries()) writeFileSync(join(folder, `example${at}.ts`), example)
})
afterAll(() => project.close())

const compile = () => run(join(root, 'node_modules/.bin/tsc'), ['-p', folder], { cwd: folder, env: {} })

test('the examples of its documentation compile in a strict TypeScript project, and work as described', async () => {
  expect(await compile()).toMatchObject({ code: 0, stdout: '' })
  const permissions = [...guide.matchAll(/--permission (\S+)/g)].map(([, permission]) => permission as Permission)
  const { projectId } = project
  const { key } = await project.server.client.keys.create({ name: 'robot', scope: 'project', projectId, permissions })
  const env = { BOARD_URL: project.server.url, BOARD_TOKEN: key }
  for (const at of examples.keys()) {
    const { code, stdout, stderr } = await run(process.execPath, [join(folder, `out/example${at}.js`)], { env })
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(stdout).toMatch(answers[at]!)
  }
  expect(examples).toHaveLength(answers.length)
})

test('an uncaught error shows a readable line of code', async () => {
  writeFileSync(
    join(folder, 'uncaught.mjs'),
    "import { connect } from 'board/client'\nawait connect({ url: 'http://127.0.0.1:1', token: 'x' }).projects.list()\n",
  )
  const { code, stderr } = await run(process.execPath, [join(folder, 'uncaught.mjs')], { env: {} })
  expect({ code, problem: /^Unreachable: .*$/m.exec(stderr)?.[0] }).toEqual({
    code: 1,
    problem: 'Unreachable: No answer from http://127.0.0.1:1 (ECONNREFUSED).',
  })
  expect(Math.max(...stderr.split('\n').map(line => line.length))).toBeLessThan(300)
})

test('its types reject a call, a field and a value that the server would reject', async () => {
  const wrong = [
    "await board.cards.mvoe({ projectId: '1', cardId: '1', columnId: '1', position: 0 })",
    "await board.cards.create({ projectId: '1' })",
    "await board.cards.create({ projectId: '1', title: 'a', priority: 'soon' })",
    "const done: string = (await board.cards.get({ projectId: '1', cardId: '1' })).version",
  ]
  const lines = ["import { connect } from 'board/client'", "const board = connect({ url: '' })", ...wrong, 'export {}']
  writeFileSync(join(folder, 'wrong.ts'), lines.join('\n'))
  const { stdout } = await compile()
  const refused = [...stdout.matchAll(/^wrong\.ts\((\d+),/gm)].map(([, line]) => Number(line))
  writeFileSync(join(folder, 'wrong.ts'), 'export {}')
  expect([...new Set(refused)]).toEqual([3, 4, 5, 6])
})

test('the package holds the files it needs, and is not larger than the documented size', async () => {
  const { files, size, unpackedSize } = await listPacked()
  const folders = new Set(files.map(({ path }) => path.split('/')[0]))
  expect([...folders].toSorted()).toEqual(
    [
      'CHANGELOG.md',
      'LICENSE',
      'README.md',
      'SECURITY.md',
      'bin',
      'completions',
      'dist',
      'docs',
      'package.json',
    ].toSorted(),
  )
  expect(files.map(({ path }) => path)).toContain('dist/third-party-licenses.txt')
  expect(size).toBeLessThan(4 * 1024 * 1024)
  expect(unpackedSize).toBeLessThan(11 * 1024 * 1024)
})

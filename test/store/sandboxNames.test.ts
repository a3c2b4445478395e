import Database from 'libsql'
import { expect, test } from 'vitest'
import sandboxNames from '../../src/store/migrations/0050-sandbox-names.ts'

test('the migration renames the stored settings and kinds of sandboxes', () => {
  const db = new Database(':memory:')
  db.exec('CREATE TABLE projects (sandbox TEXT); CREATE TABLE agent_sessions (sandbox TEXT)')
  const settings = [
    '{}',
    '{"walls":"server","network":"listed","memoryMb":512}',
    '{"walls":"off","memoryMb":null,"fileMb":10}',
  ]
  for (const each of settings) db.prepare('INSERT INTO projects VALUES (?)').run(each)
  db.exec(`INSERT INTO agent_sessions VALUES ('{"kind":"bubblewrap","network":"full"}'), ('{"kind":"none"}'), (NULL)`)
  db.exec(sandboxNames)
  const read = (table: string) =>
    (db.prepare(`SELECT sandbox FROM ${table}`).all() as { sandbox: string | null }[]).map(
      ({ sandbox }) => sandbox && JSON.parse(sandbox),
    )
  expect(read('projects')).toEqual([
    {},
    { mode: 'inherit', network: 'listed', memoryMiB: 512 },
    { mode: 'off', memoryMiB: null, fileMiB: 10 },
  ])
  expect(read('agent_sessions')).toEqual([{ kind: 'bwrap', network: 'full' }, { kind: 'none' }, null])
  db.close()
})

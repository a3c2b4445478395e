import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { fillRepository } from './firstWord.ts'
import { makeProject, makeRepository, runTerminalCard, type AskBoard, type SessionProject } from './sessions.ts'

const files = 100
const person = ['-c user.name=Bench', '-c user.email=bench@example.org'].join(' ')
const work = `echo changed >> src/0/file-0.txt && echo added > added.txt && git add -A && git ${person} commit -qm Work`

/** A project on a small repository whose cards change two files. */
export interface ChangedPlace extends SessionProject {
  askBoard: AskBoard
}

export async function makeChangedPlace(askBoard: AskBoard, folder: string): Promise<ChangedPlace> {
  const path = makeRepository(join(folder, 'repository-changed'))
  fillRepository(path, files)
  for (const [name, value] of [
    ['user.name', 'Bench'],
    ['user.email', 'bench@example.org'],
  ])
    execFileSync('git', ['-C', path, 'config', name!, value!])
  return { askBoard, ...(await makeProject(askBoard, 'Changes', path)) }
}

/** Runs a card that changes two files. @returns the ms of reading its diff, and of merging its branch */
export async function measureChangedCard({
  askBoard,
  ...project
}: ChangedPlace): Promise<{ diff: number; merge: number }> {
  const { id } = await runTerminalCard(askBoard, project, work)
  const path = `/api/projects/${project.projectId}/cards/${id}`
  const beganAt = performance.now()
  const { stats } = await askBoard<{ stats: { filesChanged: number } }>('GET', `${path}/diff`)
  const readAt = performance.now()
  await askBoard('POST', `${path}/merge`, {})
  if (stats.filesChanged === 0) throw new Error(`The card ${id} has changed nothing.`)
  return { diff: readAt - beganAt, merge: performance.now() - readAt }
}

import { externalPermissions } from '../../../src/contract/route.ts'
import { indexPendingCards } from '../../../src/domain/search.ts'
import { createKey } from '../../../src/identity/keys.ts'
import { operator, seedFolder, seedProject, signIn, type SeededProject } from '../seed.ts'
import { fillYear, type Work } from './fill.ts'

const cards = 2000

export interface FilledBoard {
  dataDir: string
  apiKey: string
  signInToken: string
  project: SeededProject
}

/** Makes a board whose cards have been worked on. */
export async function makeBoard(dataDir: string, path: string, work: Work): Promise<FilledBoard> {
  return seedFolder(dataDir, async app => {
    const project = await app.db.transaction(tx => seedProject(tx, cards, path))
    await indexPendingCards(app.db)
    // Nothing of today stands before the year's events: it would keep them.
    await app.db.transaction(tx => tx.run('DELETE FROM events'))
    await fillYear(app.db, project, work)
    const { token: apiKey } = await app.db.transaction(tx =>
      createKey(tx, operator, { name: 'Bench', scope: 'server', permissions: externalPermissions }),
    )
    return { dataDir, apiKey, signInToken: await signIn(app), project }
  })
}

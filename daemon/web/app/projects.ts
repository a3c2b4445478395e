import type { Contract } from '../../../src/contract/index.ts'
import type { Output } from '../../../src/contract/route.ts'
import { client } from './session.ts'
import { Store, useStore } from './store.ts'

export type Project = Output<Contract['projects']['list']>[number]

/** The projects that the person can see, in order. Undefined until they are loaded. */
export const projects = new Store<readonly Project[] | undefined>(undefined)

export async function loadProjects(): Promise<void> {
  projects.set(await client.projects.list())
}

export const useProject = (id: string): Project | undefined =>
  useStore(projects, all => all?.find(project => project.id === id))

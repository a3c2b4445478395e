import { useProject } from '../app/projects.ts'

/** Returns whether the person can change a project, not only view it. */
export function useCanWork(projectId: string): boolean {
  const role = useProject(projectId)?.role
  return role === 'member' || role === 'admin'
}

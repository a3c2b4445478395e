import { useProject } from '../app/projects.ts'

/** Whether the person may do more in a project than look. */
export function useCanWork(projectId: string): boolean {
  const role = useProject(projectId)?.role
  return role === 'member' || role === 'admin'
}

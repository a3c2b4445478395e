import type { Project } from '../app/projects.ts'
import type { Me } from '../app/session.ts'

/** The properties of each section of the project's settings. */
export interface SectionProps {
  project: Project
  me: Me
  /** Whether the person manages the project or works in it. Otherwise, the person can only view it. */
  mayManage: boolean
  mayWork: boolean
  /** Applies the server's response to a change of the project. */
  onChange: (project: Project) => void
}

import type { InferOutput } from 'valibot'
import { Landing } from '../contract/forges/landings.ts'
import { landingFields, type LandingRow } from '../store/forges/landings.ts'
import { viewOf } from './view.ts'

export const landing: (row: LandingRow) => InferOutput<typeof Landing> = viewOf(landingFields, Landing, 'text')

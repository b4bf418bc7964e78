import { testOutages } from './outages.js'

testOutages(16)

module fieldmanager.example/oracle-unions

go 1.23

require sigs.k8s.io/structured-merge-diff/v4 v4.3.0

require (
	github.com/json-iterator/go v1.1.12 // indirect
	github.com/modern-go/concurrent v0.0.0-20180306012644-bacd9c7ef1dd // indirect
	github.com/modern-go/reflect2 v1.0.2 // indirect
	gopkg.in/yaml.v2 v2.2.8 // indirect
)

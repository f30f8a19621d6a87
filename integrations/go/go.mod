module github.com/fieldmanager/fieldmanager/integrations/go

go 1.23
